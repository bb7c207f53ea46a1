#include <vector>

#include "tests/binding/netlink/route_socket_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(RouteSocketTest, Ipv4AddressIsAsIpAddrAddMakesIt) {
  const Netns pod = MakePluggedPod();
  RouteSocket inside = RouteSocket::OpenIn(pod);

  inside.AddAddress(inside.FindLink("eth0").value(), Net("10.1.2.3/22"));

  const json address = ShownAddress(pod, "-4").at(0);
  EXPECT_EQ(address.at("local"), "10.1.2.3");
  EXPECT_EQ(address.at("prefixlen"), 22);
  EXPECT_FALSE(address.contains("broadcast"));
}

TEST_F(RouteSocketTest, NamespaceWithoutAnyRouteHasNone) {
  EXPECT_TRUE(RouteSocket::OpenIn(MakePodNetns()).Routes().empty());
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

}  // namespace
}  // namespace kuryr::binding
