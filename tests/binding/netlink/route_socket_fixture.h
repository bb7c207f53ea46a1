#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {

inline const MacAddress kMac = MacAddress::Parse("fa:16:3e:01:02:03").value();

inline IpNetwork Net(const char* text) { return IpNetwork::Parse(text).value(); }
inline IpAddress Ip(const char* text) { return IpAddress::Parse(text).value(); }

/// The error that `action` throws, or an empty one.
inline std::system_error ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::system_error& error) {
    return error;
  }
  return std::system_error(std::error_code());
}

class RouteSocketTest : public test::NetnsTest {
 protected:
  using json = nlohmann::json;

  /// tap0 here, eth0 in a new pod; both down.
  Netns MakePlug() {
    Netns pod = MakePodNetns();
    host_.CreateVeth(
        {.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod.fd(), .peer_mac = kMac});
    return pod;
  }
  /// A veth pair with both ends up.
  Netns MakePluggedPod() {
    Netns pod = MakePlug();
    host_.SetUp(host_.FindLink("tap0").value());
    RouteSocket inside = RouteSocket::OpenIn(pod);
    inside.SetUp(inside.FindLink("eth0").value());
    return pod;
  }
  /// The only object that iproute2 prints.
  static json Shown(const Netns& netns, std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"ip", "-j", "-d"});
    const json list = json::parse(RunIn(netns, argv));
    EXPECT_EQ(list.size(), 1U) << list;
    return list.at(0);
  }
  static json ShownAddress(const Netns& netns, const std::string& family) {
    json shown = Shown(netns, {family, "address", "show", "dev", "eth0", "scope", "global"});
    json& addresses = shown.at("addr_info");
    // iproute2 prints {} for an address the filter dropped.
    std::erase(addresses.get_ref<json::array_t&>(), json::object());
    return addresses;
  }
  static size_t LinkCount(const Netns& netns) {
    return json::parse(RunIn(netns, {"ip", "-j", "link"})).size();
  }

  // Set up after the fixture's namespace is there.
  void SetUp() override {
    NetnsTest::SetUp();
    host_ = RouteSocket();
  }
  RouteSocket host_;
};

}  // namespace kuryr::binding
