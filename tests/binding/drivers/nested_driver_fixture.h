#pragma once

#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include "binding/drivers/drivers.h"
#include "tests/binding/driver_fixture.h"

namespace kuryr::binding {

/// The node's link is "uplink"; what it leads to has 10.1.0.254 and fd00::ff.
class NestedDriverTest : public DriverTest<NewNestedDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    fabric_.emplace(MakePodNetns());
    RouteSocket().CreateVeth(
        {.name = "uplink", .peer_name = "fabric", .peer_netns_fd = fabric_->fd()});
    RunOnHost({"ip", "link", "set", "uplink", "up"});
    RunIn(*fabric_, {"ip", "link", "set", "fabric", "up"});
    Address("fabric");
    Configure({.link_iface = "uplink"});
  }
  void Address(const std::string& link) {
    RunIn(*fabric_, {"ip", "address", "add", "10.1.0.254/24", "dev", link});
    RunIn(*fabric_, {"ip", "address", "add", "fd00::ff/64", "dev", link, "nodad"});
  }
  static std::string FailureOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::system_error& e) {
      return e.what();
    }
    return "";
  }

  std::optional<Netns> fabric_;
};

}  // namespace kuryr::binding
