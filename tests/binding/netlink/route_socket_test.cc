#include "binding/netlink/route_socket.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const MacAddress kMac = MacAddress::Parse("fa:16:3e:01:02:03").value();

IpNetwork Net(const char* text) { return IpNetwork::Parse(text).value(); }
IpAddress Ip(const char* text) { return IpAddress::Parse(text).value(); }

/// What `action` throws, or an empty one.
std::system_error ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::system_error& error) {
    return error;
  }
  return std::system_error(std::error_code());
}

class RouteSocketTest : public test::NetnsTest {
 protected:
  /// tap0 here, eth0 in a new pod; both down.
  Netns MakePlug() {
    Netns pod = MakePodNetns();
    host_.CreateVeth(
        {.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod.fd(), .peer_mac = kMac});
    return pod;
  }
  /// The same, both up.
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

TEST_F(RouteSocketTest, CreateVethBornInPodNamespace) {
  const Netns pod = MakePodNetns();

  host_.CreateVeth({.name = "tap0",
                    .peer_name = "eth0",
                    .peer_netns_fd = pod.fd(),
                    .peer_mac = kMac,
                    .mtu = 1442});

  const json host_end = Shown(Netns::Current(), {"link", "show", "tap0"});
  EXPECT_EQ(host_end.at("linkinfo").at("info_kind"), "veth");
  EXPECT_EQ(host_end.at("mtu"), 1442);
  EXPECT_NE(host_end.at("address"), kMac.ToString());
  const json pod_end = Shown(pod, {"link", "show", "eth0"});
  EXPECT_EQ(pod_end.at("address"), kMac.ToString());
  EXPECT_EQ(pod_end.at("mtu"), 1442);
  EXPECT_EQ(pod_end.at("ifindex"), host_end.at("link_index"));
  EXPECT_EQ(LinkCount(pod), 2U) << "lo and eth0";
}

TEST_F(RouteSocketTest, CreateVethLeavesMtuAndMacToTheKernel) {
  const Netns pod = MakePodNetns();

  host_.CreateVeth({.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod.fd()});

  EXPECT_EQ(Shown(pod, {"link", "show", "eth0"}).at("mtu"), 1500);
}

TEST_F(RouteSocketTest, CreateVethWithoutNamespaceKeepsBothEndsHere) {
  host_.CreateVeth({.name = "qvb0", .peer_name = "qvo0"});

  EXPECT_EQ(Shown(Netns::Current(), {"link", "show", "qvb0"}).at("link"), "qvo0");
}

TEST_F(RouteSocketTest, NameTakenIsFileExists) {
  const Netns pod = MakePlug();
  const VethPair same_name{.name = "tap0", .peer_name = "eth1", .peer_netns_fd = pod.fd()};
  const VethPair same_peer_name{.name = "tap1", .peer_name = "eth0", .peer_netns_fd = pod.fd()};

  const auto here = ErrorOf([&] { host_.CreateVeth(same_name); });
  const auto there = ErrorOf([&] { host_.CreateVeth(same_peer_name); });

  EXPECT_EQ(here.code(), std::errc::file_exists);
  EXPECT_THAT(here.what(), HasSubstr("create veth tap0 with peer eth1"));
  EXPECT_EQ(there.code(), std::errc::file_exists);
  EXPECT_THAT(there.what(), HasSubstr("create veth tap1 with peer eth0"));
  EXPECT_EQ(LinkCount(pod), 2U);
  EXPECT_EQ(LinkCount(Netns::Current()), 2U);
}

TEST_F(RouteSocketTest, NamesAreTakenAsTheyAreOrRefused) {
  for (const char* name : {"", "tap%d", "sixteen-letters-", "a/b", "a b", ".."}) {
    const auto error = ErrorOf([&] { host_.CreateVeth({.name = name, .peer_name = "peer"}); });
    EXPECT_EQ(error.code(), std::errc::invalid_argument) << name;
    EXPECT_THAT(error.what(), HasSubstr(name));
    EXPECT_THROW(host_.CreateVeth({.name = "tap0", .peer_name = name}), std::system_error);
  }
  EXPECT_EQ(LinkCount(Netns::Current()), 1U);

  host_.CreateVeth({.name = "fifteen-letters", .peer_name = "peer"});

  EXPECT_TRUE(host_.FindLink("fifteen-letters"));
}

TEST_F(RouteSocketTest, MtuTheKernelRefusesIsAnErrorThatNamesBothEnds) {
  const auto error =
      ErrorOf([&] { host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .mtu = 10}); });

  EXPECT_EQ(error.code(), std::errc::invalid_argument);
  EXPECT_THAT(error.what(), HasSubstr("create veth tap0 with peer tap1"));
  EXPECT_EQ(host_.FindLink("tap0"), std::nullopt);
}

TEST_F(RouteSocketTest, CreateMacvlanBornInPodNamespace) {
  const Netns pod = MakePlug();
  const Link parent = host_.FindLink("tap0").value();

  host_.CreateMacvlan(
      {.name = "mv0", .parent = parent, .netns_fd = pod.fd(), .mac = kMac, .mtu = 1400});

  EXPECT_EQ(host_.FindLink("mv0"), std::nullopt);
  const json shown = Shown(pod, {"link", "show", "mv0"});
  EXPECT_EQ(shown.at("linkinfo").at("info_data").at("mode"), "bridge");
  EXPECT_EQ(shown.at("address"), kMac.ToString());
  EXPECT_EQ(shown.at("mtu"), 1400);
  EXPECT_EQ(RouteSocket::OpenIn(pod).FindLink("mv0")->lower, parent.index);
}

TEST_F(RouteSocketTest, CreateMacvlanErrorNamesBothLinks) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link parent = host_.FindLink("tap0").value();

  const auto error = ErrorOf([&] { host_.CreateMacvlan({.name = "tap1", .parent = parent}); });

  EXPECT_EQ(error.code(), std::errc::file_exists);
  EXPECT_THAT(error.what(), HasSubstr("create macvlan tap1 on tap0"));
}

TEST_F(RouteSocketTest, CreateBridgeIsUpAndOnlyOnce) {
  EXPECT_TRUE(host_.CreateBridge("br0"));
  EXPECT_FALSE(host_.CreateBridge("br0"));

  const Link bridge = host_.FindLink("br0").value();
  EXPECT_EQ(bridge.kind, "bridge");
  EXPECT_TRUE(bridge.up);
}

TEST_F(RouteSocketTest, CreateBridgeDownHasAMacThatStays) {
  EXPECT_TRUE(host_.CreateBridgeDown("br0", MacAddress::Parse("fe:16:3e:01:02:03")));
  EXPECT_FALSE(host_.CreateBridgeDown("br0", kMac));
  const Link bridge = host_.FindLink("br0").value();
  EXPECT_FALSE(bridge.up);

  // A bridge without a MAC of its own takes the lowest of its ports'.
  host_.CreateVeth(
      {.name = "tap1", .peer_name = "tap0", .peer_mac = MacAddress::Parse("02:00:00:00:00:01")});
  RunOnHost({"ip", "link", "set", "tap0", "master", "br0"});

  EXPECT_EQ(host_.FindLink("br0")->mac.ToString(), "fe:16:3e:01:02:03");
}

TEST_F(RouteSocketTest, SetMtuAndUpHoldsWhenPortsComeAndGo) {
  host_.CreateBridgeDown("br0", std::nullopt);
  const Link bridge = host_.FindLink("br0").value();

  host_.SetMtuAndUp(bridge, 1400);

  EXPECT_TRUE(host_.FindLink("br0")->up);
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .mtu = 1300, .master = bridge.index});
  EXPECT_EQ(host_.FindLink("br0")->mtu, 1400U);
  host_.DeleteLink("tap0");
  EXPECT_EQ(host_.FindLink("br0")->mtu, 1400U);
}

TEST_F(RouteSocketTest, SetHairpinOfWhatIsNoPortIsAnErrorThatNamesIt) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});

  const auto error = ErrorOf([&] { host_.SetHairpin(host_.FindLink("tap0").value()); });

  EXPECT_THAT(error.what(), HasSubstr("set bridge port tap0 to hairpin mode"));
}

TEST_F(RouteSocketTest, CreateVethAsPortOfABridge) {
  host_.CreateBridge("br0");
  const Link bridge = host_.FindLink("br0").value();

  host_.CreateVeth({.name = "tap0", .peer_name = "tap1", .master = bridge.index});

  EXPECT_EQ(host_.FindLink("tap0")->master, bridge.index);
  EXPECT_EQ(host_.FindLink("tap0")->lower, host_.FindLink("tap1")->index);
  EXPECT_EQ(host_.FindLink("tap1")->master, 0);
}

TEST_F(RouteSocketTest, FindLinkByIndex) {
  const Link loopback = host_.FindLink("lo").value();

  EXPECT_EQ(host_.FindLink(loopback.index), loopback);
  EXPECT_EQ(host_.FindLink(loopback.index + 4711), std::nullopt);
  EXPECT_EQ(host_.FindLink(0), std::nullopt);
}

TEST_F(RouteSocketTest, FindOutputLinkFollowsTheRoutes) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();
  host_.SetUp(host_.FindLink("tap1").value());
  host_.SetUp(link);
  EXPECT_EQ(host_.FindOutputLink(Ip("10.0.0.9")), std::nullopt);
  EXPECT_EQ(host_.FindOutputLink(Ip("fd00::9")), std::nullopt);

  host_.AddAddress(link, Net("10.0.0.1/24"));
  host_.AddAddress(link, Net("fd00::1/64"));

  EXPECT_EQ(host_.FindOutputLink(Ip("10.0.0.9")), link.index);
  EXPECT_EQ(host_.FindOutputLink(Ip("fd00::9")), link.index);
  EXPECT_EQ(host_.FindOutputLink(Ip("10.0.0.1")), host_.FindLink("lo")->index);
}

TEST_F(RouteSocketTest, SetNameAliasAndUpDoesAllThree) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();

  host_.SetNameAliasAndUp(link, "eth0", "of a pod");

  EXPECT_EQ(host_.FindLink("tap0"), std::nullopt);
  const Link named = host_.FindLink("eth0").value();
  EXPECT_EQ(named.index, link.index);
  EXPECT_EQ(named.alias, "of a pod");
  EXPECT_TRUE(named.up);
  EXPECT_THROW(host_.SetNameAliasAndUp(host_.FindLink("tap1").value(), "eth%d", ""),
               std::system_error);
}

TEST_F(RouteSocketTest, FindLinkTellsWhatTheKernelHas) {
  const Netns pod = MakePluggedPod();
  RunIn(pod, {"ip", "link", "set", "eth0", "alias", "of a pod", "mtu", "1300"});

  const Link link = RouteSocket::OpenIn(pod).FindLink("eth0").value();

  EXPECT_EQ(link.index, Shown(pod, {"link", "show", "eth0"}).at("ifindex"));
  EXPECT_EQ(link.name, "eth0");
  EXPECT_EQ(link.kind, "veth");
  EXPECT_EQ(link.alias, "of a pod");
  EXPECT_EQ(link.mac, kMac);
  EXPECT_EQ(link.mtu, 1300U);
  EXPECT_TRUE(link.up);
  EXPECT_TRUE(link.has_carrier);
  RunOnHost({"ip", "link", "set", "tap0", "down"});
  EXPECT_FALSE(RouteSocket::OpenIn(pod).FindLink("eth0")->has_carrier);
  EXPECT_EQ(RouteSocket::OpenIn(pod).FindLink("lo")->up, false);
}

TEST_F(RouteSocketTest, FindLinkOfNothingIsEmpty) {
  EXPECT_EQ(host_.FindLink("tap0"), std::nullopt);
  EXPECT_TRUE(host_.FindLink("lo"));
}

TEST_F(RouteSocketTest, SetAliasAndUpDoesBoth) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const std::string alias(255, 'a');

  host_.SetAliasAndUp(host_.FindLink("tap0").value(), alias);

  const json shown = Shown(Netns::Current(), {"link", "show", "tap0"});
  EXPECT_EQ(shown.at("ifalias"), alias);
  EXPECT_THAT(shown.at("flags"), ::testing::Contains("UP"));
}

TEST_F(RouteSocketTest, AliasTooLongIsAnErrorThatNamesTheLink) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();

  const auto error = ErrorOf([&] { host_.SetAliasAndUp(link, std::string(256, 'a')); });

  EXPECT_THAT(error.what(), HasSubstr("tap0"));
  EXPECT_EQ(host_.FindLink("tap0"), link);
}

TEST_F(RouteSocketTest, DeleteLinkIsIdempotent) {
  const Netns pod = MakePlug();

  EXPECT_TRUE(host_.DeleteLink("tap0"));
  EXPECT_FALSE(host_.DeleteLink("tap0"));

  EXPECT_EQ(LinkCount(Netns::Current()), 1U);
  EXPECT_EQ(LinkCount(pod), 1U);
}

TEST_F(RouteSocketTest, DeleteLinkThatCannotGoIsAnErrorThatNamesIt) {
  const auto error = ErrorOf([&] { host_.DeleteLink("lo"); });

  EXPECT_EQ(error.code(), std::errc::operation_not_supported);
  EXPECT_THAT(error.what(), HasSubstr("delete link lo"));
}

TEST_F(RouteSocketTest, Ipv4AddressIsAsIpAddrAddMakesIt) {
  const Netns pod = MakePluggedPod();
  RouteSocket inside = RouteSocket::OpenIn(pod);

  inside.AddAddress(inside.FindLink("eth0").value(), Net("10.1.2.3/22"));

  const json address = ShownAddress(pod, "-4").at(0);
  EXPECT_EQ(address.at("local"), "10.1.2.3");
  EXPECT_EQ(address.at("prefixlen"), 22);
  EXPECT_FALSE(address.contains("broadcast"));
}

TEST_F(RouteSocketTest, Ipv6AddressIsNotTentative) {
  const Netns pod = MakePluggedPod();
  RouteSocket inside = RouteSocket::OpenIn(pod);

  inside.AddAddress(inside.FindLink("eth0").value(), Net("fd00:1::5/64"));

  const json address = ShownAddress(pod, "-6").at(0);
  EXPECT_EQ(address.at("local"), "fd00:1::5");
  EXPECT_EQ(address.at("prefixlen"), 64);
  EXPECT_EQ(address.value("nodad", false), true);
  EXPECT_EQ(address.value("tentative", false), false);
}

TEST_F(RouteSocketTest, AddAddressTwiceIsFine) {
  const Netns pod = MakePluggedPod();
  RouteSocket inside = RouteSocket::OpenIn(pod);
  const Link link = inside.FindLink("eth0").value();

  for (const char* address : {"10.1.2.3/24", "10.1.2.3/24", "fd00:1::5/64", "fd00:1::5/64"})
    inside.AddAddress(link, Net(address));

  EXPECT_EQ(ShownAddress(pod, "-4").size(), 1U);
  EXPECT_EQ(ShownAddress(pod, "-6").size(), 1U);
}

TEST_F(RouteSocketTest, AddressesOfAreThatLinksOfBothFamilies) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();
  const Link other = host_.FindLink("tap1").value();
  for (const char* address : {"10.1.2.3/24", "10.9.0.1/32", "fd00:1::5/64"})
    host_.AddAddress(link, Net(address));
  for (const char* address : {"10.2.2.3/24", "fd00:2::5/64"}) host_.AddAddress(other, Net(address));

  EXPECT_THAT(host_.AddressesOf(link),
              ::testing::ElementsAre(Net("10.1.2.3/24"), Net("10.9.0.1/32"), Net("fd00:1::5/64")));
  EXPECT_TRUE(host_.FindLink("tap0")) << "the socket is as good as before";
}

TEST_F(RouteSocketTest, AddressesOfALinkThatIsGone) {
  host_.CreateVeth({.name = "tap0", .peer_name = "tap1"});
  const Link link = host_.FindLink("tap0").value();
  host_.DeleteLink("tap0");

  const auto error = ErrorOf([&] { (void)host_.AddressesOf(link); });

  EXPECT_EQ(error.code(), std::errc::no_such_device);
  EXPECT_THAT(error.what(), HasSubstr("list the addresses of tap0"));
}

TEST_F(RouteSocketTest, AddressErrorNamesAddressAndInterface) {
  const Netns pod = MakePluggedPod();
  RouteSocket inside = RouteSocket::OpenIn(pod);
  const Link link = inside.FindLink("eth0").value();
  host_.DeleteLink("tap0");

  const auto error = ErrorOf([&] { inside.AddAddress(link, Net("10.1.2.3/24")); });

  EXPECT_EQ(error.code(), std::errc::no_such_device);
  EXPECT_THAT(error.what(), HasSubstr("add address 10.1.2.3/24 to eth0"));
}

/// A pod with 10.0.0.5/24 and fd00::5/64 on eth0.
class RouteTest : public RouteSocketTest {
 protected:
  void SetUp() override {
    RouteSocketTest::SetUp();
    pod_ = MakePluggedPod();
    inside_ = RouteSocket::OpenIn(*pod_);
    link_ = inside_.FindLink("eth0").value();
    inside_.AddAddress(link_, Net("10.0.0.5/24"));
    inside_.AddAddress(link_, Net("fd00::5/64"));
  }
  json ShownRoute(const std::string& family, const std::string& destination) {
    return Shown(*pod_, {family, "route", "show", "exact", destination, "dev", "eth0"});
  }

  std::optional<Netns> pod_;
  RouteSocket inside_;
  Link link_;
};

TEST_F(RouteTest, RouteThroughAGatewayIsStaticInTheMainTable) {
  EXPECT_TRUE(
      inside_.AddRoute(link_, {.destination = Net("10.9.0.0/16"), .gateway = Ip("10.0.0.1")}));
  EXPECT_TRUE(inside_.AddRoute(link_, {.destination = Net("fd09::/32"), .gateway = Ip("fd00::1")}));

  const json ipv4 = ShownRoute("-4", "10.9.0.0/16");
  EXPECT_EQ(ipv4.at("gateway"), "10.0.0.1");
  EXPECT_EQ(ipv4.at("protocol"), "static");
  EXPECT_EQ(ipv4.at("scope"), "global");
  EXPECT_EQ(ipv4.at("type"), "unicast");
  EXPECT_EQ(ipv4.at("flags"), json::array());
  EXPECT_FALSE(ipv4.contains("metric"));
  const json ipv6 = ShownRoute("-6", "fd09::/32");
  EXPECT_EQ(ipv6.at("gateway"), "fd00::1");
  EXPECT_EQ(ipv6.at("protocol"), "static");
  EXPECT_EQ(ipv6.at("metric"), 1024);
}

TEST_F(RouteTest, RouteWithoutGatewayIsOnLink) {
  EXPECT_TRUE(inside_.AddRoute(link_, {.destination = Net("169.254.1.1/32")}));
  EXPECT_TRUE(inside_.AddRoute(link_, {.destination = Net("fd09::/32")}));

  const json ipv4 = ShownRoute("-4", "169.254.1.1/32");
  EXPECT_FALSE(ipv4.contains("gateway"));
  EXPECT_EQ(ipv4.at("scope"), "link");
  EXPECT_FALSE(ShownRoute("-6", "fd09::/32").contains("gateway"));
}

TEST_F(RouteTest, DefaultRouteThroughAGatewayNoPrefixCovers) {
  for (const auto& [family, gateway] :
       {std::pair("-4", "192.168.7.1"), std::pair("-6", "fd77::1")}) {
    const IpAddress address = Ip(gateway);
    const LinkRoute route{.destination = IpNetwork::Default(address.family), .gateway = address};
    LinkRoute on_link = route;
    on_link.gateway_on_link = true;

    const auto error = ErrorOf([&] { (void)inside_.AddRoute(link_, route); });
    EXPECT_TRUE(inside_.AddRoute(link_, on_link));

    EXPECT_TRUE(error.code()) << family;
    EXPECT_THAT(error.what(), AllOf(HasSubstr(std::string("via ") + gateway), HasSubstr("eth0")));
    const json shown = ShownRoute(family, "default");
    EXPECT_EQ(shown.at("gateway"), gateway);
    EXPECT_THAT(shown.at("flags"), ::testing::Contains("onlink"));
  }
}

TEST_F(RouteTest, RouteThatExistsStaysAsItIs) {
  for (const auto& [family, first, second] :
       {std::tuple("-4", "10.0.0.1", "10.0.0.2"), std::tuple("-6", "fd00::1", "fd00::2")}) {
    const IpNetwork everything = IpNetwork::Default(Ip(first).family);

    EXPECT_TRUE(inside_.AddRoute(link_, {.destination = everything, .gateway = Ip(first)}));
    EXPECT_FALSE(inside_.AddRoute(link_, {.destination = everything, .gateway = Ip(first)}));
    EXPECT_FALSE(inside_.AddRoute(link_, {.destination = everything, .gateway = Ip(second)}));

    EXPECT_EQ(ShownRoute(family, "default").at("gateway"), first);
  }
}

TEST_F(RouteTest, RouteErrorNamesRouteAndInterface) {
  const auto error = ErrorOf([&] {
    (void)inside_.AddRoute(link_, {.destination = Net("10.9.0.0/16"), .gateway = Ip("10.7.0.1")});
  });

  EXPECT_EQ(error.code(), std::errc::network_unreachable);
  EXPECT_THAT(error.what(), HasSubstr("add route 10.9.0.0/16 via 10.7.0.1 through eth0 "
                                      "(Nexthop has invalid gateway)"));
}

TEST_F(RouteSocketTest, SocketStaysInItsNamespace) {
  const NetnsId before = Netns::Current().id();
  const Netns pod = MakePlug();

  RouteSocket inside = RouteSocket::OpenIn(pod);

  EXPECT_EQ(Netns::Current().id(), before);
  EXPECT_TRUE(inside.FindLink("eth0"));
  EXPECT_EQ(inside.FindLink("tap0"), std::nullopt);
  EXPECT_EQ(host_.FindLink("eth0"), std::nullopt);
}

TEST_F(RouteSocketTest, SocketSurvivesARefusal) {
  EXPECT_THROW(host_.DeleteLink("lo"), std::system_error);

  EXPECT_EQ(host_.FindLink("lo")->name, "lo");
}

TEST_F(RouteSocketTest, ThreadsWorkSideBySide) {
  constexpr int kThreads = 8;
  constexpr int kPods = 5;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);

  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int pod = 0; pod < kPods; ++pod) {
        const std::string suffix = std::to_string(thread) + "." + std::to_string(pod);
        RouteSocket socket;
        socket.CreateVeth({.name = "tap" + suffix, .peer_name = "eth" + suffix});
        socket.SetUp(socket.FindLink("eth" + suffix).value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(LinkCount(Netns::Current()), 1U + 2 * kThreads * kPods);
}

}  // namespace
}  // namespace kuryr::binding
