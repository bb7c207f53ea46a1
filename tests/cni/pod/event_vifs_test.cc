// How much one pod may ask for.
#include "cni/pod/event_vifs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kData = "versioned_object.data";

class EventVifsTest : public ::testing::Test {
 protected:
  static std::string WhyRefused(const json& object) {
    try {
      (void)VifsOf(watcher::MakeEvent(watcher::EventType::kAdded, object));
    } catch (const ParseError& e) {
      return e.what();
    }
    return "";
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

  json vif_ = json::parse(std::ifstream(KURYR_TEST_DATA "/demo/vif.json"));
};

TEST_F(EventVifsTest, VifsOfOnePodAreLimited) {
  EXPECT_EQ(WhyRefused(PodWith(Vifs(64))), "");
  EXPECT_THAT(WhyRefused(PodWith(Vifs(65))),
              AllOf(HasSubstr("Pod default/web: annotation openstack.org/kuryr-vif"),
                    HasSubstr("has 65 VIFs, at most 64 are accepted")));
}

TEST_F(EventVifsTest, VifsOfAKuryrPortAreLimited) {
  json port = {{"kind", "KuryrPort"}, {"metadata", {{"namespace", "default"}, {"name", "web"}}}};
  for (size_t i = 0; i < 65; ++i)
    port["status"]["vifs"]["eth" + std::to_string(i)] = {{"default", i == 0}, {"vif", vif_}};

  EXPECT_THAT(WhyRefused(port), AllOf(HasSubstr("KuryrPort default/web: vifs"),
                                      HasSubstr("has 65 VIFs, at most 64 are accepted")));
}

TEST_F(EventVifsTest, AddressesOfOneVifAreLimited) {
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

TEST_F(EventVifsTest, RoutesOfOneVifAreLimited) {
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

TEST_F(EventVifsTest, BytesOfAnAnnotationAreLimited) {
  vif_["unknown"] = std::string(size_t{256} << 10, 'x');

  EXPECT_THAT(WhyRefused(PodWith(vif_)),
              AllOf(HasSubstr("Pod default/web: $.metadata.annotations['openstack.org/kuryr-vif']"),
                    HasSubstr("at most 262144 are accepted")));
}

}  // namespace
}  // namespace kuryr::cni
