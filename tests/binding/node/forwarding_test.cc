#include "binding/node/forwarding.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/route_monitor.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A node whose link "uplink" leads to a router, fe80::2.
class ForwardingTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    RunOnHost({"ip", "link", "set", "lo", "up"});
    RunOnHost({"ip", "link", "add", "other", "type", "veth", "peer", "name", "end"});
    router_.emplace(MakePodNetns());
    RouteSocket().CreateVeth(
        {.name = "uplink", .peer_name = "eth0", .peer_netns_fd = router_->fd()});
    RunOnHost({"ip", "link", "set", "uplink", "up"});
    RunIn(*router_, {"ip", "link", "set", "eth0", "up"});
    RunIn(*router_, {"ip", "address", "add", "fe80::2/64", "dev", "eth0", "nodad"});
  }

  /// The router sends a router advertisement (RFC 4861) to all nodes.
  void Advertise() const {
    const NetnsGuard guard(*router_);
    const UniqueFd socket(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
    const int hops = 255;
    nd_router_advert advert{};
    advert.nd_ra_type = ND_ROUTER_ADVERT;
    advert.nd_ra_router_lifetime = htons(1800);
    sockaddr_in6 from{.sin6_family = AF_INET6, .sin6_scope_id = ::if_nametoindex("eth0")};
    sockaddr_in6 to = from;
    ::inet_pton(AF_INET6, "fe80::2", &from.sin6_addr);
    ::inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
    if (::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0 ||
        ::bind(socket.get(), reinterpret_cast<sockaddr*>(&from), sizeof from) != 0 ||
        ::sendto(socket.get(), &advert, sizeof advert, 0, reinterpret_cast<sockaddr*>(&to),
                 sizeof to) < 0)
      ThrowErrno("send a router advertisement");
  }
  /// An advertisement that comes before the link is ready gets lost: each notice of the kernel,
  /// such as that of the link's own address, lets the router send another one.
  void LearnRoute() const {
    test::RouteMonitor monitor;
    Advertise();
    (void)monitor.Until([&](const auto&) {
      if (!DefaultRoute().empty()) return true;
      Advertise();
      return false;
    });
  }
  static std::string DefaultRoute() { return RunOnHost({"ip", "-6", "route", "show", "default"}); }
  static std::string Value(const std::string& setting) {
    return RunOnHost({"sysctl", "-n", setting}).substr(0, 1);
  }
  static std::string AcceptRa(const std::string& link) {
    return Value("net.ipv6.conf." + link + ".accept_ra");
  }

  std::optional<Netns> router_;
};

TEST_F(ForwardingTest, RouteOfARouterAdvertisementStays) {
  LearnRoute();

  ForwardIpv6();

  EXPECT_EQ(Value("net.ipv6.conf.uplink.forwarding"), "1");
  EXPECT_THAT(DefaultRoute(), HasSubstr("via fe80::2 dev uplink proto ra"));
  EXPECT_EQ(AcceptRa("uplink"), "2");
  EXPECT_EQ(AcceptRa("other"), "1") << "no such route leads there";
}

TEST_F(ForwardingTest, LinkThatAcceptsNoAdvertisementsAnyMoreIsLeft) {
  LearnRoute();
  RunOnHost({"sysctl", "-q", "-w", "net.ipv6.conf.uplink.accept_ra=0"});

  ForwardIpv6();

  EXPECT_EQ(AcceptRa("uplink"), "0");
  EXPECT_THAT(DefaultRoute(), IsEmpty());
}

TEST_F(ForwardingTest, NodeThatForwardsAlreadyIsLeft) {
  ForwardIpv6();

  ForwardIpv6();

  EXPECT_EQ(AcceptRa("uplink"), "1");
}

}  // namespace
}  // namespace kuryr::binding
