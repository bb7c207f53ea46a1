#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "binding/plan/l3.h"
#include "tests/binding/differences.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {

struct Destination {
  const char* cidr;
  const char* gateway = nullptr;
};

inline vif::Field<IpAddress> OptionalIp(const char* text) {
  if (text == nullptr) return {};
  return IpAddress::Parse(text).value();
}

inline vif::Subnet SubnetOf(const char* cidr, const std::vector<const char*>& addresses,
                            const char* gateway = nullptr,
                            const std::vector<Destination>& routes = {}) {
  vif::Subnet subnet;
  subnet.cidr = IpNetwork::Parse(cidr).value();
  subnet.gateway = OptionalIp(gateway);
  auto& ips = subnet.ips.emplace().objects.emplace();
  for (const char* address : addresses) ips.push_back({.address = OptionalIp(address)});
  auto& list = subnet.routes.emplace().objects.emplace();
  for (const Destination& route : routes) {
    list.push_back(
        {.cidr = IpNetwork::Parse(route.cidr).value(), .gateway = OptionalIp(route.gateway)});
  }
  return subnet;
}

inline vif::VifBase VifWith(std::vector<vif::Subnet> subnets) {
  vif::VifBase vif;
  vif.network.emplace().subnets.emplace().objects = std::move(subnets);
  return vif;
}

inline void WriteSetting(const Netns& netns, const std::string& name, const std::string& value) {
  const NetnsGuard guard(netns);
  std::ofstream("/proc/sys/net/" + name) << value;
}

inline std::string Setting(const Netns& netns, const std::string& name) {
  const NetnsGuard guard(netns);
  std::string value;
  std::ifstream("/proc/sys/net/" + name) >> value;
  return value;
}

class L3Test : public test::NetnsTest {
 protected:
  /// A pod whose eth0 is up and leads to the host's bridge br0.
  Netns MakePluggedPod(const std::string& tap, uint32_t mtu = 1450) {
    Netns pod = MakePodNetns();
    RouteSocket host;
    if (!host.FindLink("br0")) RunOnHost({"ip", "link", "add", "br0", "up", "type", "bridge"});
    host.CreateVeth({.name = tap, .peer_name = "eth0", .peer_netns_fd = pod.fd(), .mtu = mtu});
    RunOnHost({"ip", "link", "set", tap, "up", "master", "br0"});
    RouteSocket inside = RouteSocket::OpenIn(pod);
    inside.SetUp(inside.FindLink("eth0").value());
    return pod;
  }
  void SetUp() override {
    NetnsTest::SetUp();
    pod_ = MakePluggedPod("tap0");
  }

  /// The global addresses of eth0 as iproute2 prints them: "10.0.0.5/24".
  std::vector<std::string> Addresses() {
    std::vector<std::string> found;
    for (const nlohmann::json& link : nlohmann::json::parse(
             RunIn(*pod_, {"ip", "-j", "address", "show", "eth0", "scope", "global"}))) {
      for (const nlohmann::json& address : link.at("addr_info")) {
        if (address.empty()) continue;  // the filter has dropped it
        found.push_back(address.at("local").get<std::string>() + "/" +
                        std::to_string(address.at("prefixlen").get<int>()));
      }
    }
    return found;
  }
  void Configure(const std::string& ifname, const vif::VifBase& vif, bool is_default) {
    ConfigureL3(*pod_, ifname, PlanL3(vif, is_default), L3Scope::kPod);
  }
  /// The routes that the kernel did not make by itself: "10.9.0.0/16 via 10.0.0.1".
  std::vector<std::string> Routes(const std::string& family) {
    std::vector<std::string> found;
    for (const nlohmann::json& route : nlohmann::json::parse(
             RunIn(*pod_, {"ip", "-j", family, "route", "show", "proto", "static"}))) {
      const std::string gateway = route.value("gateway", "");
      const auto flags = route.at("flags").get<std::vector<std::string>>();
      const bool on_link = std::find(flags.begin(), flags.end(), "onlink") != flags.end();
      found.push_back(route.at("dst").get<std::string>() +
                      (gateway.empty() ? "" : " via " + gateway) + (on_link ? " onlink" : ""));
    }
    return found;
  }

  /// The next hops of one route: "10.0.0.1".
  std::vector<std::string> NextHops(const std::string& family, const std::string& destination) {
    const nlohmann::json routes =
        nlohmann::json::parse(RunIn(*pod_, {"ip", "-j", family, "route", "show", destination}));
    std::vector<std::string> found;
    for (const nlohmann::json& hop : routes.at(0).at("nexthops")) {
      const auto flags = hop.at("flags").get<std::vector<std::string>>();
      const bool on_link = std::find(flags.begin(), flags.end(), "onlink") != flags.end();
      found.push_back(hop.at("gateway").get<std::string>() + (on_link ? " onlink" : ""));
    }
    EXPECT_EQ(routes.size(), 1U);
    return found;
  }
  std::optional<std::string> Check(const vif::VifBase& vif) {
    RouteSocket inside = RouteSocket::OpenIn(*pod_);
    Differences found;
    CheckL3(inside, inside.FindLink("eth0").value(), PlanL3(vif, true), found);
    return FirstOf(found);
  }

  std::optional<Netns> pod_;
};

}  // namespace kuryr::binding
