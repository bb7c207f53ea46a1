#include "binding/node/parent_link.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/unique_fd.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

/// Two links that are up: first0 and second0, with 10.0.0.1/24 and fd00::1/64 on the latter.
class ParentLinkTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    outside_.emplace(MakePodNetns());
    MakeLink("first0");
    MakeLink("second0");
    RunOnHost({"ip", "address", "add", "10.0.0.1/24", "dev", "second0"});
    RunOnHost({"ip", "address", "add", "fd00::1/64", "dev", "second0", "nodad"});
  }
  void MakeLink(const std::string& name) {
    RouteSocket().CreateVeth({.name = name, .peer_name = name, .peer_netns_fd = outside_->fd()});
    RunOnHost({"ip", "link", "set", name, "up"});
    RunIn(*outside_, {"ip", "link", "set", name, "up"});
  }
  static std::string Parent(const std::string& link_iface = "") {
    RouteSocket host;
    try {
      return FindParentLink(host, link_iface).name;
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::no_such_device);
      return e.what();
    }
  }

  static UniqueFd Listen(const char* text) {
    const IpAddress address = IpAddress::Parse(text).value();
    const bool ipv4 = address.family == IpFamily::kIpv4;
    UniqueFd socket(::socket(ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in{.sin_family = AF_INET, .sin_port = htons(10250), .sin_addr = {}, .sin_zero = {}};
    sockaddr_in6 in6{.sin6_family = AF_INET6,
                     .sin6_port = htons(10250),
                     .sin6_flowinfo = 0,
                     .sin6_addr = {},
                     .sin6_scope_id = 0};
    std::memcpy(&in.sin_addr, address.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&in6.sin6_addr, address.bytes.data(), sizeof in6.sin6_addr);
    const auto* name =
        ipv4 ? reinterpret_cast<const sockaddr*>(&in) : reinterpret_cast<const sockaddr*>(&in6);
    if (::bind(socket.get(), name, ipv4 ? sizeof in : sizeof in6) != 0 ||
        ::listen(socket.get(), 1) != 0) {
      ADD_FAILURE() << text << ": " << std::strerror(errno);
    }
    return socket;
  }

  std::optional<Netns> outside_;
};

TEST_F(ParentLinkTest, LinkIfaceWins) {
  RunOnHost({"ip", "route", "add", "default", "via", "10.0.0.2"});

  EXPECT_EQ(Parent("first0"), "first0");
}

TEST_F(ParentLinkTest, LinkIfaceThatIsNotThereIsNamed) {
  EXPECT_THAT(Parent("uplink"), HasSubstr("use uplink, which [binding] link_iface names"));
}

TEST_F(ParentLinkTest, DefaultRoutesLink) {
  RunOnHost({"ip", "route", "add", "default", "via", "10.0.0.2"});

  EXPECT_EQ(Parent(), "second0");
}

TEST_F(ParentLinkTest, KubeletsLinkComesBeforeTheDefaultRoutes) {
  RunOnHost({"ip", "route", "add", "default", "via", "10.0.0.2"});
  RunOnHost({"ip", "address", "add", "198.51.100.7/24", "dev", "first0"});
  RunOnHost({"ip", "address", "add", "fd01::7/64", "dev", "first0", "nodad"});
  for (const char* address : {"198.51.100.7", "fd01::7"}) {
    const UniqueFd kubelet = Listen(address);
    EXPECT_EQ(Parent(), "first0") << address;
  }
  const UniqueFd first = Listen("198.51.100.7");
  const UniqueFd second = Listen("10.0.0.1");
  EXPECT_EQ(Parent(), "second0") << "two may be anybody";
}

TEST_F(ParentLinkTest, KubeletThatListensEverywhereOrLocallyTellsNothing) {
  RunOnHost({"ip", "route", "add", "default", "via", "10.0.0.2"});
  for (const char* address : {"0.0.0.0", "::", "127.0.0.1"}) {
    const UniqueFd kubelet = Listen(address);
    EXPECT_EQ(Parent(), "second0") << address;
  }
}

TEST_F(ParentLinkTest, Ipv6sDefaultRoutesLink) {
  RunOnHost({"ip", "-6", "route", "add", "default", "via", "fd00::2"});

  EXPECT_EQ(Parent(), "second0");
}

TEST_F(ParentLinkTest, DefaultRouteThatLeadsNowhereIsNone) {
  RunOnHost({"ip", "route", "add", "blackhole", "default"});
  RunOnHost({"ip", "-6", "route", "add", "unreachable", "default"});

  EXPECT_EQ(Parent(), "first0");
}

TEST_F(ParentLinkTest, FirstUsableLinkWithoutADefaultRoute) {
  EXPECT_EQ(Parent(), "first0");

  RunOnHost({"ip", "link", "set", "first0", "alias", "kuryr-cni kuryr c0ffee eth0 uid default/p"});
  EXPECT_EQ(Parent(), "second0") << "first0 is a pod's";

  RunOnHost({"ip", "link", "set", "first0", "alias", "", "down"});
  EXPECT_EQ(Parent(), "second0") << "first0 is down";
}

TEST_F(ParentLinkTest, PortsOfABridgeAndLinksWithoutCarrierAreNotUsable) {
  RunIn(*outside_, {"ip", "link", "set", "first0", "down"});
  EXPECT_EQ(Parent(), "second0");

  RunOnHost({"ip", "link", "add", "br0", "up", "type", "bridge"});
  RunOnHost({"ip", "link", "set", "second0", "master", "br0"});
  RunOnHost({"ip", "link", "set", "br0", "down"});
  EXPECT_THAT(Parent(), HasSubstr("[binding] link_iface is not set"));
}

}  // namespace
}  // namespace kuryr::binding
