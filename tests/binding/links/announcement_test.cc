#include "binding/links/announcement.h"

#include <gmock/gmock.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>

#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "binding/links/interfaces.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/frame_capture.h"
#include "tests/support/neighbour_table.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using test::Frame;
using test::FrameCapture;
using test::NeighbourTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kMac = "fa:16:3e:80:d4:01";
constexpr const char* kOldMac = "fa:16:3e:80:d4:99";

/// Where an advertisement's ICMPv6 begins, behind the IPv6 header, and its target in there.
constexpr size_t kIcmp = 40;
constexpr size_t kTarget = kIcmp + 8;

std::string Hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 0xfU];
  }
  return text;
}

bool IsAdvertisement(const Frame& frame) {
  return frame.protocol == ETH_P_IPV6 && frame.payload.size() > kTarget &&
         frame.payload[6] == IPPROTO_ICMPV6 && frame.payload[kIcmp] == ND_NEIGHBOR_ADVERT;
}

/// A pod, and a neighbour at the other end of its veth.
class AnnouncementTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    pod_.emplace(MakePodNetns());
    neighbour_.emplace(MakePodNetns());
    RouteSocket::OpenIn(*neighbour_)
        .CreateVeth({.name = "wire",
                     .peer_name = "eth0",
                     .peer_netns_fd = pod_->fd(),
                     .peer_mac = MacAddress::Parse(kMac)});
    // The pod's end has no address but ours, and is the last one that goes up: it can send then.
    RunIn(*pod_, {"ip", "link", "set", "eth0", "addrgenmode", "none"});
    RunIn(*neighbour_, {"ip", "link", "set", "wire", "up"});
    RunIn(*pod_, {"ip", "link", "set", "eth0", "up"});
    for (const char* address : {"10.1.0.2/24", "fd00::2/64"}) Add(*neighbour_, "wire", address);
  }
  static void Add(const Netns& netns, const std::string& link, const char* address) {
    RouteSocket socket = RouteSocket::OpenIn(netns);
    socket.AddAddress(Find(socket, link), IpNetwork::Parse(address).value());
  }
  void AddToPod(const char* address) { Add(*pod_, "eth0", address); }
  /// The ARP frames, or advertisements, that the pod sends while it announces itself.
  std::vector<std::string> Announced(uint16_t protocol) {
    const NetnsGuard guard(*pod_);
    FrameCapture capture("eth0");
    Announce(*pod_, "eth0");
    std::vector<std::string> announced;
    for (const Frame& frame : capture.Take()) {
      const bool is_wanted = protocol == ETH_P_ARP || IsAdvertisement(frame);
      if (!frame.outgoing || frame.protocol != protocol || !is_wanted) continue;
      announced.push_back(frame.source.ToString() + ">" + frame.destination.ToString() + " " +
                          Hex(frame.payload));
    }
    return announced;
  }

  std::optional<Netns> pod_;
  std::optional<Netns> neighbour_;
};

TEST_F(AnnouncementTest, AnIpv4AddressIsAskedForByItself) {
  AddToPod("10.1.0.1/24");

  EXPECT_THAT(Announced(ETH_P_ARP), ElementsAre("fa:16:3e:80:d4:01>ff:ff:ff:ff:ff:ff "
                                                "0001080006040001"
                                                "fa163e80d4010a010001"
                                                "0000000000000a010001"));
}

TEST_F(AnnouncementTest, AnIpv6AddressIsAdvertisedToAllNodesWithOverride) {
  AddToPod("fd00::1/64");

  EXPECT_THAT(Announced(ETH_P_IPV6), ElementsAre("fa:16:3e:80:d4:01>33:33:00:00:00:01 "
                                                 "6000000000203aff"
                                                 "fd000000000000000000000000000001"
                                                 "ff020000000000000000000000000001"
                                                 "8800500320000000"
                                                 "fd000000000000000000000000000001"
                                                 "0201fa163e80d401"));
}

TEST_F(AnnouncementTest, AnAdvertisementOfARouterSaysSo) {
  AddToPod("fd00::1/64");
  RunIn(*pod_, {"sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"});

  EXPECT_THAT(Announced(ETH_P_IPV6), ElementsAre(HasSubstr("a0000000fd00")));
}

TEST_F(AnnouncementTest, WithoutAddressesNothingIsSaid) {
  EXPECT_THAT(Announced(ETH_P_ARP), IsEmpty());
  EXPECT_THAT(Announced(ETH_P_IPV6), IsEmpty());
}

/// Also one that has changed just now: an answer to ARP would be too early (locktime).
TEST_F(AnnouncementTest, NeighboursTakeTheMacOfEveryAddressThatTheyKnow) {
  const std::vector<std::string> addresses = {"10.1.0.1", "10.1.0.3", "fd00::1", "fd00::3"};
  for (const char* address : {"10.1.0.1/24", "10.1.0.3/24", "fd00::1/64", "fd00::3/64"})
    AddToPod(address);
  NeighbourTable table(*neighbour_);
  for (const std::string& address : addresses) {
    RunIn(*neighbour_, {"ip", "neighbour", "replace", address, "lladdr", kOldMac, "dev", "wire",
                        "nud", "reachable"});
    table.WaitFor(address, *MacAddress::Parse(kOldMac));
  }

  Announce(*pod_, "eth0");

  for (const std::string& address : addresses) table.WaitFor(address, *MacAddress::Parse(kMac));
}

TEST_F(AnnouncementTest, NeighboursTakeNoAddressThatTheyDoNotKnow) {
  AddToPod("10.1.0.1/24");
  AddToPod("fd00::1/64");

  Announce(*pod_, "eth0");

  EXPECT_EQ(RunIn(*neighbour_, {"ip", "neighbour"}), "");
}

TEST_F(AnnouncementTest, ItMayBeRepeatedAndChangesNothingElse) {
  AddToPod("10.1.0.1/24");
  const Link before = RouteSocket::OpenIn(*pod_).FindLink("eth0").value();

  Announce(*pod_, "eth0");

  Link after = RouteSocket::OpenIn(*pod_).FindLink("eth0").value();
  // The kernel may notice the carrier meanwhile.
  after.running = before.running;
  after.qdisc = before.qdisc;
  EXPECT_EQ(after, before);
  EXPECT_EQ(Announced(ETH_P_ARP).size(), 1U);
}

TEST_F(AnnouncementTest, ALinkThatIsMissingIsNamed) {
  try {
    Announce(*pod_, "eth7");
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_such_device);
    EXPECT_THAT(e.what(), HasSubstr("eth7"));
  }
}

}  // namespace
}  // namespace kuryr::binding
