#include "controller/plan/kept_plan.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/controller/backends/pools/backend_fixture.h"
#include "tests/vif/samples.h"

#ifdef __has_feature
#define KURYR_IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define KURYR_IS_SANITIZED 0
#endif
#if KURYR_IS_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace kuryr::controller {
namespace {

using pools::PoolBackend;

/// A sanitizer has an allocator of its own, of which mallinfo2 knows nothing.
size_t AllocatedBytes() {
#if KURYR_IS_SANITIZED
  return __sanitizer_get_current_allocated_bytes();
#else
  return ::mallinfo2().uordblks;
#endif
}

/// A pool of each kind, by its options.
class KeptPlanTest : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::vector<pools::Pool> Pools() const {
    return pools::ReadPoolsOf("[pool:blue]\ncidr = 10.1.0.0/24, fd00::/64\ndefault = true\n" +
                              std::string(GetParam()));
  }
  [[nodiscard]] static std::vector<vif::PodVif> Planned(PoolBackend& backend,
                                                        const PlanRequest& request) {
    std::vector<vif::PodVif> vifs = backend.Reserve(request).value();
    for (vif::PodVif& vif : vifs) vif::Common(vif.vif).active = true;
    return vifs;
  }
};

TEST_P(KeptPlanTest, NextBackendGivesThePodWhatItHas) {
  PlanRequest request = pools::RequestOf(pools::Pod("a"));
  request.interfaces.push_back({.ifname = "net1", .network = "blue"});
  PoolBackend former(Pools(), 1);
  const auto vifs = Planned(former, request);

  PoolBackend next(Pools(), 2);
  next.Adopt(request.owner, KeptPlan(vifs).vifs());

  EXPECT_EQ(Planned(next, request), vifs);
  for (const vif::PodVif& vif : KeptPlan(vifs).vifs()) {
    EXPECT_TRUE(next.Owns(request.owner, vif));
    EXPECT_FALSE(next.Owns(pools::Pod("b"), vif));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, KeptPlanTest,
                         ::testing::Values("bridge = br-int\n", "vif = bridge\nbridge = br0\n",
                                           "vif = macvlan\n", "vif = vlan\nvlan_ids = 5-9\n"));

TEST(KeptPlanOfSamplesTest, LosesNothing) {
  for (const char* const folder : {"annotation", "kuryrport"}) {
    for (const std::string& name : vif::SampleNames(folder)) {
      SCOPED_TRACE(name);
      const std::string file = std::string(folder) + "/" + name + ".json";
      const bool is_annotation = folder == std::string("annotation");
      const auto vifs =
          is_annotation ? vif::DecodeAnnotation(vif::ReadSample(file))
                        : vif::VifsOf(vif::JsonSample(file)).value_or(std::vector<vif::PodVif>());
      EXPECT_EQ(KeptPlan(vifs).vifs(), vifs);
    }
  }
}

TEST(KeptPlanOfManyPodsTest, KeepsOnceWhatTheyHaveInCommon) {
  constexpr size_t kPods = 1000;
  PoolBackend backend(pools::ReadPoolsOf("[pool:blue]\ncidr = 10.1.0.0/16\ndefault = true\n"));
  std::vector<std::vector<vif::PodVif>> all;
  for (size_t i = 0; i < kPods; ++i)
    all.push_back(backend.Reserve(pools::RequestOf(pools::Pod("pod" + std::to_string(i)))).value());
  std::vector<KeptPlan> kept;
  kept.reserve(kPods);

  const size_t before = AllocatedBytes();
  for (const auto& vifs : all) kept.emplace_back(vifs);

  EXPECT_LT(AllocatedBytes() - before, kPods * 150);
  for (size_t i = 0; i < kPods; ++i) ASSERT_EQ(kept[i].vifs(), all[i]);
}

TEST(KeptPlanOfNothingTest, IsEmpty) {
  EXPECT_TRUE(KeptPlan().empty());
  EXPECT_TRUE(KeptPlan().vifs().empty());
}

}  // namespace
}  // namespace kuryr::controller
