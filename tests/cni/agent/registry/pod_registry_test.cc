// How much the plans of a node's pods may take.
#include "cni/agent/registry/pod_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/paths.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PodRegistryTest : public ::testing::Test {
 protected:
  /// A plan of some hundred thousand bytes.
  [[nodiscard]] json Large() const {
    json map;
    json vif = vif_;
    json& data = vif["versioned_object.data"];
    data["network"]["versioned_object.data"]["label"] = std::string(3000, 'x');
    for (int i = 0; i < 40; ++i) map["eth" + std::to_string(i)] = vif;
    return map;
  }
  void Tell(const std::string& name, const json& annotation,
            watcher::EventType type = watcher::EventType::kAdded) {
    registry_.Handle(watcher::MakeEvent(
        type, {{"kind", "Pod"},
               {"metadata",
                {{"namespace", "default"},
                 {"name", name},
                 {"uid", "uid-of-" + name},
                 {"annotations", {{"openstack.org/kuryr-vif", annotation.dump()}}}}}}));
  }
  [[nodiscard]] PodPlan PlanOf(const std::string& name) const {
    for (const PlannedPod& pod : registry_.pods()) {
      if (pod.name == name) return *pod.plan;
    }
    ADD_FAILURE() << "pod " << name << " is not known";
    return {};
  }
  [[nodiscard]] size_t AllBytes() const {
    size_t bytes = 0;
    for (const PlannedPod& pod : registry_.pods()) bytes += pod.plan->bytes;
    return bytes;
  }
  /// Until one is refused; how many were kept.
  int Fill() {
    for (int number = 0; number < 500; ++number) {
      const std::string name = "large-" + std::to_string(number);
      Tell(name, Large());
      if (PlanOf(name).problem) return number;
    }
    ADD_FAILURE() << "none is refused";
    return 0;
  }

  const json vif_ = json::parse(std::ifstream(test::TestData() + "/demo/vif.json"));
  PodRegistry registry_{
      VifSource::kAny,
      {.follow = [](const std::string&) {}, .unfollow = [](const std::string&) {}}};
};

TEST_F(PodRegistryTest, LargePlansOfAllPodsAreLimited) {
  const int kept = Fill();

  EXPECT_GT(kept, 10);
  EXPECT_LE(AllBytes(), kMostPlanned);
  const auto problem = PlanOf("large-" + std::to_string(kept)).problem;
  ASSERT_TRUE(problem);
  EXPECT_THAT(problem->what(),
              AllOf(HasSubstr("Pod default/large-"), HasSubstr(" bytes of values, and those of "),
                    HasSubstr("of at most 16777216")));
}

TEST_F(PodRegistryTest, UsualPlansAreKeptBesideTheLargest) {
  (void)Fill();

  // More than is left.
  for (int number = 0; number < 100; ++number) {
    const std::string name = "usual-" + std::to_string(number);
    Tell(name, vif_);
    EXPECT_FALSE(PlanOf(name).problem) << name;
  }
}

TEST_F(PodRegistryTest, RoomOfAPodThatIsGoneIsFree) {
  const int kept = Fill();
  const std::string refused = "large-" + std::to_string(kept);
  Tell("large-0", Large(), watcher::EventType::kDeleted);
  Tell("large-1", vif_, watcher::EventType::kModified);

  Tell(refused, Large(), watcher::EventType::kModified);

  EXPECT_FALSE(PlanOf(refused).problem);
}

}  // namespace
}  // namespace kuryr::cni
