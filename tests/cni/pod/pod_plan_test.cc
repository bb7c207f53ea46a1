// How much one pod may ask for.
#include "cni/pod/known_pod.h"

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

constexpr const char* kData = "versioned_object.data";

class PodPlanTest : public ::testing::Test {
 protected:
  static std::string WhyRefused(const json& object) {
    const PodPlan plan = DecodePlan(watcher::MakeEvent(watcher::EventType::kAdded, object));
    EXPECT_EQ(plan.read.empty(), plan.problem.has_value());
    return plan.problem ? plan.problem->what() : "";
  }
  static json PodWith(const json& annotation) {
    return {{"kind", "Pod"},
            {"metadata",
             {{"namespace", "default"},
              {"name", "web"},
              {"annotations", {{"openstack.org/kuryr-vif", annotation.dump()}}}}}};
  }
  json& Subnet() { return vif_[kData]["network"][kData]["subnets"][kData]["objects"][0][kData]; }
  [[nodiscard]] json Vifs(size_t count) const {
    json map;
    for (size_t i = 0; i < count; ++i) map["eth" + std::to_string(i)] = vif_;
    return map;
  }

  json vif_ = json::parse(std::ifstream(test::TestData() + "/demo/vif.json"));
};

TEST_F(PodPlanTest, VifsOfOnePodAreLimited) {
  EXPECT_EQ(WhyRefused(PodWith(Vifs(64))), "");
  EXPECT_THAT(WhyRefused(PodWith(Vifs(65))),
              AllOf(HasSubstr("Pod default/web: annotation openstack.org/kuryr-vif"),
                    HasSubstr("has 65 VIFs, at most 64 are accepted")));
}

TEST_F(PodPlanTest, VifsOfAKuryrPortAreLimited) {
  json port = {{"kind", "KuryrPort"}, {"metadata", {{"namespace", "default"}, {"name", "web"}}}};
  for (size_t i = 0; i < 65; ++i)
    port["status"]["vifs"]["eth" + std::to_string(i)] = {{"default", i == 0}, {"vif", vif_}};

  EXPECT_THAT(WhyRefused(port), AllOf(HasSubstr("KuryrPort default/web: vifs"),
                                      HasSubstr("has 65 VIFs, at most 64 are accepted")));
}

TEST_F(PodPlanTest, AddressesOfOneVifAreLimited) {
  json& ips = Subnet()["ips"][kData]["objects"];
  const json ip = ips[0];
  while (ips.size() < 65) {
    ips.push_back(ip);
    ips.back()[kData]["address"] = "10.10.1." + std::to_string(100 + ips.size());
  }

  EXPECT_THAT(WhyRefused(PodWith(vif_)),
              AllOf(HasSubstr("Pod default/web"), HasSubstr("VIF of eth0, $.network.subnets"),
                    HasSubstr(" addresses, at most 64 are accepted")));
}

TEST_F(PodPlanTest, RoutesOfOneVifAreLimited) {
  json& routes = Subnet()["routes"][kData]["objects"];
  for (int i = 0; i < 257; ++i) {
    routes.push_back(
        {{"versioned_object.name", "Route"},
         {"versioned_object.namespace", "os_vif"},
         {"versioned_object.version", "1.0"},
         {kData,
          {{"cidr", "10.20." + std::to_string(i / 250) + "." + std::to_string(i % 250) + "/32"},
           {"gateway", "10.10.0.254"}}}});
  }

  EXPECT_THAT(WhyRefused(PodWith(vif_)),
              AllOf(HasSubstr("Pod default/web"), HasSubstr("VIF of eth0, $.network.subnets"),
                    HasSubstr(" routes, at most 256 are accepted")));
}

TEST_F(PodPlanTest, BytesOfAnAnnotationAreLimited) {
  vif_["unknown"] = std::string(size_t{256} << 10, 'x');

  EXPECT_THAT(WhyRefused(PodWith(vif_)),
              AllOf(HasSubstr("Pod default/web: $.metadata.annotations['openstack.org/kuryr-vif']"),
                    HasSubstr("at most 262144 are accepted")));
}

TEST_F(PodPlanTest, MemoryOfAPlanIsLimited) {
  json& subnets = vif_[kData]["network"][kData]["subnets"][kData]["objects"];
  json empty = subnets[0];
  empty[kData] = {{"cidr", "10.1.0.0/16"}};
  while (subnets.size() < 1600) subnets.push_back(empty);

  EXPECT_THAT(WhyRefused(PodWith(vif_)),
              AllOf(HasSubstr("Pod default/web: annotation openstack.org/kuryr-vif: has "),
                    HasSubstr(" bytes of values, at most 524288 are accepted")));
}

TEST_F(PodPlanTest, OfAPlanItsFieldsAreKept) {
  json padded = vif_;
  padded["versioned_object.changes"] = {"active"};
  padded[kData]["network"][kData]["of_tomorrow"] = std::string(100'000, 'x');
  const auto read = [](const json& object) {
    return DecodePlan(watcher::MakeEvent(watcher::EventType::kAdded, object));
  };

  EXPECT_EQ(read(PodWith(padded)), read(PodWith(vif_)));
}

TEST_F(PodPlanTest, WhoeverAsksForVifsThatCannotBeReadIsToldWhy) {
  const PodPlan plan =
      DecodePlan(watcher::MakeEvent(watcher::EventType::kAdded, PodWith(json("text"))));

  EXPECT_THROW((void)plan.vifs(), ParseError);
}

}  // namespace
}  // namespace kuryr::cni
