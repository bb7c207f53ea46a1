#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "binding/driver_context.h"
#include "binding/drivers/drivers.h"
#include "binding/netlink/route_socket.h"
#include "binding/parts/driver.h"
#include "tests/binding/differences.h"
#include "tests/binding/pod_attachment.h"
#include "tests/binding/vifs.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {

/// For drivers that need nothing but the kernel: a driver, and pods to connect.
template <std::unique_ptr<Driver> (*kNew)(const DriverContext&)>
class DriverTest : public test::NetnsTest {
 protected:
  struct Pod {
    Attachment attachment;
    Netns netns;
  };

  void SetUp() override {
    NetnsTest::SetUp();
    Configure({.bridges = {"br-lan"}});
  }
  void Configure(const BindingConfig& config) { driver_ = kNew({config, shared_}); }

  Pod MakePod(int n) {
    const std::string path = MakePodNetnsPath();
    Pod pod{.attachment = PodAttachment(n), .netns = Netns::Open(path)};
    pod.attachment.netns = path;
    pod.attachment.netns_id = pod.netns.id();
    return pod;
  }
  std::vector<Interface> Connect(const vif::Vif& vif, const Pod& pod,
                                 const std::string& ifname = "eth0") {
    return driver_->Connect(
        {driver_->Plan({ifname, ifname == "eth0", vif}), pod.attachment, pod.netns, Soon()});
  }
  /// The first difference; empty when there is none.
  std::string Check(const vif::Vif& vif, const Pod& pod) {
    return FirstOf(driver_->Check(
                       {driver_->Plan({"eth0", true, vif}), pod.attachment, pod.netns, Soon()}))
        .value_or("");
  }
  /// Check after each change of the pod's side, which iproute2 makes.
  void ExpectDifferences(const vif::Vif& vif, const Pod& pod) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> changes = {
        {{"true"}, ""},
        {{"ip", "link", "set", "eth0", "mtu", "1400"}, ""},
        {{"ip", "-6", "route", "del", "default"},
         "route ::/0 via fd00::ff through eth0 is missing"},
        {{"ip", "-6", "route", "add", "default", "via", "fd00::ff"}, ""},
        {{"ip", "route", "del", "default"},
         "route 0.0.0.0/0 via 10.1.0.254 through eth0 is missing"},
        {{"ip", "route", "add", "default", "via", "10.1.0.9"},
         "via 10.1.0.9 through eth0 instead of"},
        {{"ip", "address", "del", "10.1.0.1/24", "dev", "eth0"}, "10.1.0.1/24 is missing on eth0"},
        {{"ip", "link", "set", "eth0", "down"}, "eth0 is down"}};
    for (const auto& [change, difference] : changes) {
      RunIn(pod.netns, change);
      const std::string found = Check(vif, pod);
      EXPECT_EQ(found.empty(), difference.empty()) << found << " after " << change.back();
      EXPECT_THAT(found, ::testing::HasSubstr(difference)) << change.back();
    }
  }
  void Disconnect(const vif::Vif& vif, const Attachment& attachment) {
    driver_->Disconnect(driver_->Plan({"eth0", true, vif}).plug, attachment, Soon());
  }
  void Disconnect(const vif::Vif& vif, const Pod& pod) { Disconnect(vif, pod.attachment); }
  static std::optional<Link> LinkIn(const Pod& pod, const std::string& name = "eth0") {
    return RouteSocket::OpenIn(pod.netns).FindLink(name);
  }
  static void Ping(const Pod& pod, const std::string& address) {
    RunIn(pod.netns, {"ping", "-c1", "-W5", address});
  }
  static bool Answers(const Pod& pod, const std::string& address) {
    const NetnsGuard guard(pod.netns);
    return test::RunProgram({.argv = {"ping", "-c1", "-W1", address}}).status == 0;
  }
  /// With a packet of `mtu` bytes that nobody may fragment.
  static void PingInFullSize(const Pod& pod, const std::string& address, size_t mtu) {
    const size_t headers = address.find(':') == std::string::npos ? 28 : 48;  // IP and ICMP
    RunIn(pod.netns, {"ping", "-c1", "-W5", "-Mdo", "-s", std::to_string(mtu - headers), address});
  }
  /// Names, kinds, addresses, aliases, masters and administrative state: what must not change.
  static std::string LinksOf(const Netns& netns) {
    std::string state;
    for (const nlohmann::json& link : ParseJson(RunIn(netns, {"ip", "-d", "-j", "link"}))) {
      const nlohmann::json& flags = link.at("flags");
      const bool up = std::find(flags.begin(), flags.end(), "UP") != flags.end();
      if (link.at("ifname") == "lo") continue;
      state += link.at("ifname").get<std::string>() + " " +
               link.at("linkinfo").at("info_kind").get<std::string>() + " " +
               link.at("address").get<std::string>() + " " + link.value("ifalias", "") + " " +
               link.value("master", "") + (up ? " up\n" : " down\n");
    }
    return state;
  }
  static std::string StateWith(const Pod& pod) {
    return LinksOf(Netns::Current()) + "--\n" + LinksOf(pod.netns);
  }

  Shared shared_;
  std::unique_ptr<Driver> driver_;
};

}  // namespace kuryr::binding
