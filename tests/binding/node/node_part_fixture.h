#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "binding/node/node_part.h"
#include "tests/binding/node/nat.h"
#include "tests/binding/node/node_vif.h"
#include "tests/binding/pod_attachment.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {

/// A node 192.0.2.1 (fd09::1) with Open vSwitch and br-int, and the machine of node2, which is also
/// 198.51.100.9 and fd0a::9 of the outside and knows no pods.
class NodePartTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    if (const auto why = NatUnavailable()) GTEST_SKIP() << *why;
    ovs_.emplace("/run");
    context_.emplace(DriverContext{.config = {.ovsdb_connection = ovs_->remote(),
                                              .datapath_type = test::PrivateOvs::datapath_type()},
                                   .shared = shared_});
    AddBridge("br-int");
    node2_.emplace(MakePodNetns());
    RouteSocket().CreateVeth(
        {.name = "uplink", .peer_name = "eth0", .peer_netns_fd = node2_->fd()});
    for (const char* address : {"192.0.2.1/24", "fd09::1/64"}) GiveAddress("uplink", address);
    RunOnHost({"ip", "link", "set", "uplink", "up"});
    for (const char* address : {"192.0.2.2/24", "198.51.100.9/32", "fd09::2/64", "fd0a::9/128"})
      RunIn(*node2_, {"ip", "address", "add", address, "dev", "eth0", "nodad"});
    RunIn(*node2_, {"ip", "link", "set", "eth0", "up"});
    RunIn(*node2_, {"ip", "link", "set", "lo", "up"});
    RunOnHost({"ip", "route", "add", "198.51.100.9", "via", "192.0.2.2"});
    RunOnHost({"ip", "route", "add", "fd0a::9", "via", "fd09::2"});
    plan_ = {.port = PlanManagementPort(test::NodeVif(), context_->config),
             .addresses = {Ip("192.0.2.1"), Ip("fd09::1")},
             .others = {{.name = "node2",
                         .addresses = {Ip("192.0.2.2"), Ip("fd09::2")},
                         .networks = {Net("10.244.2.0/24"), Net("fd00:1:2::/64")}}},
             .options = {.enabled = true, .service_cidrs = {Net("10.96.0.0/12")}}};
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  static IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }
  static IpNetwork Net(const std::string& text) { return IpNetwork::Parse(text).value(); }
  static void GiveAddress(const std::string& link, const std::string& address) {
    RunOnHost({"ip", "address", "add", address, "dev", link, "nodad"});
  }
  void AddBridge(const std::string& name) {
    ovs_->Vsctl({"add-br", name, "--", "set", "Bridge", name,
                 "datapath_type=" + test::PrivateOvs::datapath_type()});
  }

  /// The differences from the plan, in words. A part that cannot look says why.
  std::vector<std::string> Differ() {
    std::vector<std::string> texts;
    for (const auto& part : NodePartsOf(plan_, *context_)) {
      try {
        for (const Difference& difference : part->Check(Soon())) texts.push_back(difference.text);
      } catch (const std::exception& e) {
        texts.emplace_back(e.what());
      }
    }
    return texts;
  }
  void Make() {
    for (const auto& part : NodePartsOf(plan_, *context_))
      if (!part->Check(Soon()).empty()) part->Make(Soon());
  }
  /// As in a network of routers, which are the gateways of pods.
  void BeBehindGateways() { plan_.port.gateways = {Ip("10.244.1.254"), Ip("fd00:1:1::fe")}; }
  void BeAChassis() {
    plan_.name = "node1";
    plan_.chassis = {.is_managed = true, .sb_connection = "tcp:192.0.2.9:6642"};
  }
  static std::string Ruleset() { return RunOnHost({"nft", "list", "ruleset"}); }
  static std::string RoutesOf(const char* family) {
    return RunOnHost({"ip", family, "route", "show", "proto", "75"});
  }
  /// A pod on br-int, with whole addresses and its node as gateway on link.
  Netns MakePod(int n) {
    Netns pod = MakePodNetns();
    const std::string number = std::to_string(n);
    RouteSocket().CreateVeth(
        {.name = "pod" + number, .peer_name = "eth0", .peer_netns_fd = pod.fd()});
    RunOnHost({"ip", "link", "set", "pod" + number, "up"});
    RunIn(pod, {"ip", "link", "set", "lo", "up"});
    RunIn(pod, {"ip", "link", "set", "eth0", "up"});
    for (const std::string& address :
         {"10.244.1." + number + "/32", "fd00:1:1::" + number + "/128"})
      RunIn(pod, {"ip", "address", "add", address, "dev", "eth0", "nodad"});
    for (const char* gateway : {"10.244.1.1", "fd00:1:1::1"}) {
      RunIn(pod, {"ip", "route", "add", gateway, "dev", "eth0"});
      RunIn(pod, {"ip", "route", "add", "default", "via", gateway});
    }
    ovs_->Vsctl({"add-port", "br-int", "pod" + number});
    return pod;
  }
  static void Ping(const Netns& from, const std::string& address) {
    RunIn(from, {"ping", "-q", "-n", "-c", "1", "-w", "20", address});
  }

  std::optional<test::PrivateOvs> ovs_;
  Shared shared_;
  std::optional<DriverContext> context_;
  std::optional<Netns> node2_;
  NodePlan plan_;
};

}  // namespace kuryr::binding
