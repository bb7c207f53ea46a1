#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "binding/drivers/drivers.h"
#include "binding/netlink/route_socket.h"
#include "binding/parts/driver.h"
#include "tests/binding/ovs_vif.h"
#include "tests/binding/pod_attachment.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {

class OvsDriverTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    driver_ = NewOvsDriver({Config(), shared_});
    pod_.emplace(MakePodNetns());
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  [[nodiscard]] BindingConfig Config() const {
    return {.ovsdb_connection = ovs_->remote(), .datapath_type = test::PrivateOvs::datapath_type()};
  }
  std::vector<Interface> Connect(const vif::VifOpenVSwitch& vif, const Attachment& attachment,
                                 const Netns& pod) {
    return driver_->Connect({driver_->Plan({"eth0", true, vif}), attachment, pod, Soon()});
  }
  std::vector<Interface> ConnectPod(int n, const Netns& pod) {
    return Connect(test::OvsVif(n), PodAttachment(n), pod);
  }
  void DisconnectPod(int n) {
    driver_->Disconnect(driver_->Plan({"eth0", true, test::OvsVif(n)}).plug, PodAttachment(n),
                        Soon());
  }
  void MakeBridge() {
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
                 "datapath_type=" + test::PrivateOvs::datapath_type()});
  }
  std::string Vsctl(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--no-wait"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ovs_->Vsctl(all);
  }
  /// Names, addresses, aliases and administrative state of the links in host and pod, and the
  /// database's bridges and interfaces: what must not change.
  std::string State() {
    std::string state;
    for (const std::string& links :
         {RunOnHost({"ip", "-j", "link"}), RunIn(*pod_, {"ip", "-j", "link"})}) {
      for (const nlohmann::json& link : ParseJson(links)) {
        if (link.at("ifname") == "lo") continue;
        const nlohmann::json& flags = link.at("flags");
        const bool up = std::find(flags.begin(), flags.end(), "UP") != flags.end();
        state += link.at("ifname").get<std::string>() + " " +
                 link.at("address").get<std::string>() + " " + link.value("ifalias", "") +
                 (up ? " up\n" : " down\n");
      }
      state += "--\n";
    }
    return state + Vsctl({"--columns=_uuid,name,ports", "list", "Bridge"}) + "\n" +
           Vsctl({"--columns=_uuid,name,external_ids", "list", "Interface"});
  }
  void ExpectNothingLeft() {
    EXPECT_FALSE(RouteSocket().FindLink(*test::OvsVif(1).vif_name).has_value());
    EXPECT_FALSE(RouteSocket::OpenIn(*pod_).FindLink("eth0").has_value());
    EXPECT_EQ(Vsctl({"--columns=name", "find", "Interface", "name=" + *test::OvsVif(1).vif_name}),
              "");
  }

  std::optional<test::PrivateOvs> ovs_;
  Shared shared_;
  std::unique_ptr<Driver> driver_;
  std::optional<Netns> pod_;
};

}  // namespace kuryr::binding
