// An attacker in a pod with NET_RAW, the node behind its management port, and a pod that both know.
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/unique_fd.h"
#include "binding/drivers/binding.h"
#include "binding/links/announcement.h"
#include "tests/binding/differences.h"
#include "tests/binding/drivers/ovs_driver_fixture.h"
#include "tests/binding/frames.h"
#include "tests/support/frame_capture.h"

namespace kuryr::binding {
namespace {

using test::ArpFrame;
using test::Ip;
using test::Ipv4Frame;
using test::Ipv6Frame;
using test::Mac;
using test::NamedFrame;
using test::NdFrame;
using test::NdOption;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSolicit = 135;
constexpr int kAdvert = 136;

const MacAddress kOwnMac = Mac("fa:16:3e:80:d4:01");
const MacAddress kVictimMac = Mac("fa:16:3e:80:d4:02");
const MacAddress kGatewayMac = Mac("fa:16:3e:0a:00:01");
const IpAddress kOwn = Ip("10.1.0.1");
const IpAddress kVictim = Ip("10.1.0.2");
const IpAddress kGateway = Ip("10.1.0.254");
const IpAddress kOwn6 = Ip("fd00::1");
const IpAddress kVictim6 = Ip("fd00::2");
const IpAddress kGateway6 = Ip("fd00::ff");
const IpAddress kNone6 = Ip("::");
const IpAddress kOwnLinkLocal = Ip("fe80::f816:3eff:fe80:d401");

std::vector<NamedFrame> ForgedFrames() {
  std::vector<NamedFrame> all = {
      {"source of IPv4: another pod", Ipv4Frame(kGatewayMac, kOwnMac, kVictim, kGateway)},
      {"source of IPv4: the outside", Ipv4Frame(kGatewayMac, kOwnMac, Ip("192.0.2.7"), kGateway)},
      {"source of IPv4: none", Ipv4Frame(kGatewayMac, kOwnMac, Ip("0.0.0.0"), kGateway)},
      {"source of IPv6: another pod",
       Ipv6Frame(kGatewayMac, kOwnMac, kVictim6, kGateway6, 17, test::kEcho)},
      {"source of IPv6: another link-local one",
       Ipv6Frame(kGatewayMac, kOwnMac, Ip("fe80::1"), kGateway6, 17, test::kEcho)},
      {"MAC of another pod", Ipv4Frame(kGatewayMac, kVictimMac, kOwn, kGateway)},
      {"MAC and address of another pod", Ipv4Frame(kGatewayMac, kVictimMac, kVictim, kGateway)},
      {"ARP reply for the gateway", ArpFrame(kOwnMac, 2, kOwnMac, kGateway, kVictim)},
      {"ARP reply for another pod", ArpFrame(kOwnMac, 2, kOwnMac, kVictim, kGateway)},
      {"ARP request as another pod", ArpFrame(kOwnMac, 1, kOwnMac, kVictim, kGateway)},
      {"ARP reply with another MAC", ArpFrame(kOwnMac, 2, kVictimMac, kOwn, kGateway)},
      {"ARP reply of no address", ArpFrame(kOwnMac, 2, kOwnMac, Ip("0.0.0.0"), kGateway)},
      {"advertisement for the gateway",
       NdFrame(kOwnMac, kOwn6, kAdvert, kGateway6, NdOption(2, kOwnMac))},
      {"advertisement for another pod",
       NdFrame(kOwnMac, kVictim6, kAdvert, kVictim6, NdOption(2, kOwnMac))},
      {"advertisement with another MAC",
       NdFrame(kOwnMac, kOwn6, kAdvert, kOwn6, NdOption(2, kVictimMac))},
      {"solicitation with another MAC",
       NdFrame(kOwnMac, kOwn6, kSolicit, kGateway6, NdOption(1, kVictimMac))},
      {"solicitation with two MACs",
       NdFrame(
           kOwnMac, kOwn6, kSolicit, kGateway6,
           test::FrameBuilder().Add(NdOption(1, kVictimMac)).Add(NdOption(1, kVictimMac)).bytes())},
      {"detection of the gateway's address", NdFrame(kOwnMac, kNone6, kSolicit, kGateway6, {})},
      {"advertisement behind options of the destination",
       Ipv6Frame(Mac("33:33:00:00:00:01"), kOwnMac, kOwn6, Ip("ff02::1"), 60,
                 test::FrameBuilder()
                     .Add({58, 0, 1, 4, 0, 0, 0, 0, kAdvert, 0, 0, 0, 0x20, 0, 0, 0})
                     .Add(kGateway6)
                     .Add(NdOption(2, kOwnMac))
                     .bytes())},
      {"answer of a DHCP server",
       Ipv4Frame(kGatewayMac, kOwnMac, kOwn, kGateway, test::kDhcpAnswer)},
      {"answer of a DHCPv6 server",
       Ipv6Frame(kGatewayMac, kOwnMac, kOwn6, kGateway6, 17, {2, 35, 2, 34, 0, 8, 0, 0})},
      {"router advertisement", NdFrame(kOwnMac, kOwnLinkLocal, 134, kNone6, {})},
      {"redirect", NdFrame(kOwnMac, kOwnLinkLocal, 137, kGateway6, {})},
      {"redirect of IPv4",
       test::IpFrame(kGatewayMac, kOwnMac, kOwn, kGateway, 1, {5, 1, 0, 0, 10, 1, 0, 1})},
      {"router advertisement of IPv4",
       test::IpFrame(kGatewayMac, kOwnMac, kOwn, kGateway, 1, {9, 0, 0, 0, 0, 0, 0, 0})},
      {"query of IGMP", test::IpFrame(Mac("01:00:5e:00:00:01"), kOwnMac, kOwn, Ip("224.0.0.1"), 2,
                                      {0x11, 0, 0, 0, 0, 0, 0, 0})},
      {"query of MLD", NdFrame(kOwnMac, kOwnLinkLocal, 130, kNone6, {})},
      {"another protocol",
       test::FrameBuilder().Add(kGatewayMac).Add(kOwnMac).Add({0x88, 0xb5, 1, 2, 3, 4}).bytes()}};
  const test::FrameBytes plain = Ipv4Frame(kGatewayMac, kOwnMac, kOwn, kGateway);
  all.push_back({"tag of a VLAN",
                 test::FrameBuilder()
                     .Add(test::FrameBytes(plain.begin(), plain.begin() + 12))
                     .Add({0x81, 0, 0, 7})
                     .Add(test::FrameBytes(plain.begin() + 12, plain.end()))
                     .bytes(),
                 18});
  // They come last: where they pass, the switch has no way to the gateway any more.
  const MacAddress everybody = Mac("ff:ff:ff:ff:ff:ff");
  all.push_back({"MAC of the gateway", Ipv4Frame(everybody, kGatewayMac, kOwn, kGateway)});
  all.push_back({"MAC of the gateway by IPv6",
                 Ipv6Frame(everybody, kGatewayMac, kOwn6, kGateway6, 17, test::kEcho)});
  return all;
}

std::vector<NamedFrame> OwnFrames() {
  return {
      {"IPv4", Ipv4Frame(kGatewayMac, kOwnMac, kOwn, kGateway)},
      {"IPv4 to a group", Ipv4Frame(Mac("01:00:5e:00:00:fb"), kOwnMac, kOwn, Ip("224.0.0.251"))},
      {"IPv6", Ipv6Frame(kGatewayMac, kOwnMac, kOwn6, kGateway6, 17, test::kEcho)},
      {"IPv6, link-local",
       Ipv6Frame(kGatewayMac, kOwnMac, kOwnLinkLocal, kGateway6, 17, test::kEcho)},
      {"ARP request", ArpFrame(kOwnMac, 1, kOwnMac, kOwn, kGateway)},
      {"ARP probe", ArpFrame(kOwnMac, 1, kOwnMac, Ip("0.0.0.0"), kOwn)},
      {"gratuitous ARP request", ArpFrame(kOwnMac, 1, kOwnMac, kOwn, kOwn)},
      {"gratuitous ARP reply", ArpFrame(kOwnMac, 2, kOwnMac, kOwn, kOwn)},
      {"solicitation", NdFrame(kOwnMac, kOwn6, kSolicit, kGateway6, NdOption(1, kOwnMac))},
      {"solicitation without a MAC", NdFrame(kOwnMac, kOwn6, kSolicit, kGateway6, {})},
      {"advertisement", NdFrame(kOwnMac, kOwn6, kAdvert, kOwn6, NdOption(2, kOwnMac))},
      {"advertisement without a MAC", NdFrame(kOwnMac, kOwn6, kAdvert, kOwn6, {})},
      {"advertisement of the link-local address",
       NdFrame(kOwnMac, kOwnLinkLocal, kAdvert, kOwnLinkLocal, NdOption(2, kOwnMac))},
      {"detection of a duplicate", NdFrame(kOwnMac, kNone6, kSolicit, kOwn6, {})},
      {"router solicitation", NdFrame(kOwnMac, kOwnLinkLocal, 133, kNone6, {})},
      {"report of groups", NdFrame(kOwnMac, kNone6, 143, kNone6, {})},
      {"report of groups by IGMP", test::IpFrame(Mac("01:00:5e:00:00:16"), kOwnMac, kOwn,
                                                 Ip("224.0.0.22"), 2, {0x22, 0, 0, 0, 0, 0, 0, 0})},
      {"ping", test::IpFrame(kGatewayMac, kOwnMac, kOwn, kGateway, 1, {8, 0, 0, 0, 0, 1, 0, 1})},
  };
}

vif::VifOpenVSwitch FreeVif(int n) {
  vif::VifOpenVSwitch vif = test::AloneVif(n);
  std::get<vif::PortProfileOpenVSwitch>(*vif.port_profile).profile_id =
      std::string(vif::kNoPortSecurity);
  return vif;
}

void Send(const Netns& pod, const test::FrameBytes& bytes) {
  const NetnsGuard inside(pod);
  const UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll link{};
  link.sll_family = AF_PACKET;
  link.sll_ifindex = static_cast<int>(::if_nametoindex("eth0"));
  if (::sendto(socket.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&link),
               sizeof link) < 0)
    ThrowErrno("send a frame");
}

class PortSecurityTest : public OvsDriverTest {
 protected:
  void SetUp() override {
    OvsDriverTest::SetUp();
    driver_ = NewOvsDriver({Config(), shared_});
    MakeBridge();
    ovs_->Vsctl({"add-port", "br-int", "kuryr0", "--", "set", "Interface", "kuryr0",
                 "type=internal", "mac=\"" + kGatewayMac.ToString() + "\""});
    RunOnHost({"ip", "link", "set", "kuryr0", "up"});
    RunOnHost({"ip", "address", "add", "10.1.0.254/24", "dev", "kuryr0"});
    RunOnHost({"ip", "address", "add", "fd00::ff/64", "dev", "kuryr0", "nodad"});
    victim_.emplace(MakePodNetns());
    Connect(test::AloneVif(2), PodAttachment(2), *victim_);
  }
  void ConnectAttacker() { Connect(test::AloneVif(1), PodAttachment(1), *pod_); }

  /// The names of those frames from the attacker that the node gets. Waits for each.
  std::vector<std::string> Arriving(const std::vector<NamedFrame>& frames) {
    std::vector<std::string> names;
    test::FrameCapture node("kuryr0");
    for (const NamedFrame& frame : frames) {
      Send(*pod_, frame.bytes);
      if (Await(node, frame, frames).contains(frame.name)) names.push_back(frame.name);
    }
    return names;
  }
  /// The names of those frames, none of which should pass. A frame of the pod's own follows each:
  /// it may overtake a frame that the kernel does not know how to forward yet.
  std::set<std::string> Passing(const std::vector<NamedFrame>& frames) {
    std::set<std::string> names;
    test::FrameCapture node("kuryr0");
    const NamedFrame last = {"", ArpFrame(kOwnMac, 1, kOwnMac, kOwn, Ip("10.1.0.77"))};
    for (const NamedFrame& frame : frames) {
      Send(*pod_, frame.bytes);
      Send(*pod_, last.bytes);
      names.merge(Await(node, last, frames));
    }
    EXPECT_EQ(names.erase(last.name), 1U);
    return names;
  }
  /// Waits for the frame. Returns the names of all frames that came meanwhile.
  static std::set<std::string> Await(test::FrameCapture& node, const NamedFrame& awaited,
                                     std::vector<NamedFrame> frames) {
    frames.push_back(awaited);
    std::set<std::string> names;
    for (const Deadline deadline = Soon();
         !names.contains(awaited.name) && deadline.Remaining().count() > 0;) {
      for (const test::Frame& got : node.Take()) {
        for (const NamedFrame& frame : frames) {
          if (Is(got, frame)) names.insert(frame.name);
        }
      }
    }
    return names;
  }
  static bool Is(const test::Frame& got, const NamedFrame& frame) {
    const auto payload = frame.bytes.begin() + static_cast<long>(frame.headers);
    const auto size = static_cast<size_t>(frame.bytes.end() - payload);
    return !got.outgoing && got.payload.size() >= size &&
           std::equal(payload, frame.bytes.end(), got.payload.begin()) &&
           std::equal(got.source.bytes.begin(), got.source.bytes.end(), frame.bytes.begin() + 6);
  }
  static std::vector<std::string> NamesOf(const std::vector<NamedFrame>& frames) {
    std::vector<std::string> names;
    for (const NamedFrame& frame : frames) names.push_back(frame.name);
    return names;
  }
  /// One packet, to where the switch has learned the victim's MAC.
  static void ExpectVictimReachable() {
    for (const char* address : {"10.1.0.2", "fd00::2"}) RunOnHost({"ping", "-c1", "-W20", address});
  }
  std::string Flows() {
    return RunOnHost(
        {"ovs-ofctl", "dump-flows", "unix:" + ovs_->folder().string() + "/br-int.mgmt"});
  }
  static int64_t CountLines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }
  void Ofctl(const std::string& command, const std::string& flow) {
    RunOnHost({"ovs-ofctl", command, "unix:" + ovs_->folder().string() + "/br-int.mgmt", flow});
  }
  std::vector<std::string> Differ() {
    std::vector<std::string> texts;
    for (const Difference& difference : driver_->Check(Request())) texts.push_back(difference.text);
    return texts;
  }
  PlugRequest Request() { return {planned_, attachment_, *pod_, Soon()}; }

  std::optional<Netns> victim_;
  Planned planned_ = NewOvsDriver({{}, shared_})->Plan({"eth0", true, test::AloneVif(1)});
  const Attachment attachment_ = PodAttachment(1);
};

TEST_F(PortSecurityTest, ForgedFramesGoNowhere) {
  ConnectAttacker();

  EXPECT_THAT(Passing(ForgedFrames()), IsEmpty());
}

TEST_F(PortSecurityTest, FramesOfThePodsOwnPass) {
  ConnectAttacker();

  EXPECT_EQ(Arriving(OwnFrames()), NamesOf(OwnFrames()));
}

TEST_F(PortSecurityTest, VictimAndGatewayKeepTheirTraffic) {
  ConnectAttacker();
  for (const char* address : {"10.1.0.254", "fd00::ff"})
    RunIn(*victim_, {"ping", "-c1", "-w20", address});
  ExpectVictimReachable();

  for (const NamedFrame& frame : ForgedFrames()) {
    SCOPED_TRACE(frame.name);
    Send(*pod_, frame.bytes);
    RunIn(*pod_, {"ping", "-c1", "-w20", "10.1.0.254"});
    ExpectVictimReachable();
    for (const char* address : {"10.1.0.254", "fd00::ff"})
      RunIn(*victim_, {"ping", "-c1", "-W20", address});
  }
}

TEST_F(PortSecurityTest, AnnouncementsReachTheNode) {
  ConnectAttacker();
  test::FrameCapture node("kuryr0");

  Announce(*pod_, "eth0");
  RunIn(*pod_, {"ping", "-c1", "-w20", "10.1.0.254"});

  const auto taken = node.Take();
  for (const int protocol : {0x0806, 0x86dd})
    EXPECT_TRUE(std::any_of(taken.begin(), taken.end(), [&](const test::Frame& frame) {
      return !frame.outgoing && frame.protocol == protocol && frame.source == kOwnMac;
    })) << protocol;
}

TEST_F(PortSecurityTest, TrustedPlanMaySwitchItOff) {
  BindingConfig config = Config();
  config.trusts_plans = true;
  driver_ = NewOvsDriver({config, shared_});
  Connect(FreeVif(1), PodAttachment(1), *pod_);

  EXPECT_EQ(Arriving(ForgedFrames()), NamesOf(ForgedFrames()));
}

TEST_F(PortSecurityTest, OptionSwitchesItOff) {
  BindingConfig config = Config();
  config.port_security = false;
  driver_ = NewOvsDriver({config, shared_});
  ConnectAttacker();

  EXPECT_EQ(Arriving(ForgedFrames()), NamesOf(ForgedFrames()));
}

TEST_F(PortSecurityTest, OtherPlansMayNot) {
  Connect(FreeVif(1), PodAttachment(1), *pod_);

  EXPECT_THAT(Passing(ForgedFrames()), IsEmpty());
}

TEST_F(PortSecurityTest, PortsWithNeighboursOnTheirLinkHaveNone) {
  const Netns other = MakePodNetns();
  Connect(test::OvsVif(3), PodAttachment(3), other);

  EXPECT_FALSE(driver_->Plan({"eth0", true, test::OvsVif(3)}).port->security.has_value());
  EXPECT_EQ(Vsctl({"--if-exists", "get", "Interface", "tap450e5c61-3",
                   "external_ids:kuryr-port-security"}),
            "");
}

TEST_F(PortSecurityTest, ComesBackAfterARestartOfOpenVSwitch) {
  ConnectAttacker();
  ovs_->StopVswitchd();
  ovs_->StartVswitchd();
  EXPECT_THAT(FirstOf(driver_->Check(Request())).value_or(""), HasSubstr("tap450e5c61-1"));

  (void)driver_->Repair(Request());

  EXPECT_THAT(Differ(), IsEmpty());
  RunOnHost({"ip", "link", "set", "kuryr0", "up"});
  RunOnHost({"ip", "address", "replace", "10.1.0.254/24", "dev", "kuryr0"});
  EXPECT_THAT(Passing(ForgedFrames()), IsEmpty());
}

TEST_F(PortSecurityTest, FlowsThatSomebodyDeletesAreADifferenceAndRepaired) {
  ConnectAttacker();
  EXPECT_THAT(Differ(), IsEmpty());
  Ofctl("del-flows", "arp");
  EXPECT_THAT(FirstOf(driver_->Check(Request())).value_or(""), HasSubstr("flows"));

  (void)driver_->Repair(Request());

  EXPECT_THAT(Differ(), IsEmpty());
}

TEST_F(PortSecurityTest, ChangedAddressesReplaceTheOnesBefore) {
  ConnectAttacker();
  vif::VifOpenVSwitch vif = test::AloneVif(1);
  auto& subnets = *vif.network->subnets->objects;
  subnets[0].cidr = *IpNetwork::Parse("10.1.0.7/32");
  subnets[0].ips->objects->at(0).address = Ip("10.1.0.7");
  const Planned changed = driver_->Plan({"eth0", true, vif});

  (void)driver_->Repair({changed, attachment_, *pod_, Soon()});

  EXPECT_THAT(Flows(), HasSubstr("nw_src=10.1.0.7 "));
  EXPECT_THAT(Flows(), Not(HasSubstr("nw_src=10.1.0.1 ")));
}

TEST_F(PortSecurityTest, FlowsOfOthersStayAndDecideOnWhatPasses) {
  Ofctl("add-flow", "cookie=0x77,priority=9,icmp,nw_dst=10.1.0.254 actions=drop");
  ConnectAttacker();
  RunIn(*pod_, {"sh", "-c", "! ping -c1 -W1 10.1.0.254"});
  RunIn(*pod_, {"ping", "-c1", "-w20", "fd00::ff"});

  DisconnectPod(1);

  EXPECT_THAT(Flows(), HasSubstr("cookie=0x77"));
}

TEST_F(PortSecurityTest, BridgeThatIsMadeAnewHasThemAgain) {
  ConnectAttacker();
  Vsctl({"del-br", "br-int"});
  MakeBridge();

  (void)driver_->Repair(Request());

  EXPECT_THAT(Differ(), IsEmpty());
}

TEST_F(PortSecurityTest, BridgeWithoutOpenFlow13IsRefusedAndLeftAlone) {
  ovs_->Vsctl({"set", "Bridge", "br-int", "protocols=OpenFlow10"});
  const std::string before = State();

  EXPECT_THAT([&] { ConnectAttacker(); },
              ::testing::ThrowsMessage<OvsError>(HasSubstr("does not allow OpenFlow 1.3")));

  EXPECT_EQ(State(), before);
}

TEST_F(PortSecurityTest, FlowsOfAPortThatSomebodyDeletesAreStray) {
  ConnectAttacker();
  const std::string before = Flows();
  Binding binding(Config());
  EXPECT_EQ(binding.RemoveStrayFlows(Soon()), 0U);
  EXPECT_EQ(CountLines(Flows()), CountLines(before));
  ovs_->Vsctl({"del-port", "tap450e5c61-1"});

  EXPECT_EQ(binding.RemoveStrayFlows(Soon()), 1U);

  constexpr int64_t kOthers = 2;  // ovs-ofctl's first line, and the flow with NORMAL
  EXPECT_EQ(CountLines(Flows()) - kOthers, (CountLines(before) - kOthers) / 2);
}

TEST_F(PortSecurityTest, DisconnectTakesItsFlowsAndNoOthers) {
  const std::string before = Vsctl({"get", "Interface", "tap450e5c61-2", "ofport"});
  ConnectAttacker();
  const std::string own = Vsctl({"get", "Interface", "tap450e5c61-1", "ofport"});
  const auto of_port = [](const std::string& number) { return "in_port=" + number + " "; };
  EXPECT_THAT(Flows(), HasSubstr(of_port(own)));

  DisconnectPod(1);

  EXPECT_THAT(Flows(), Not(HasSubstr(of_port(own))));
  EXPECT_THAT(Flows(), HasSubstr(of_port(before)));
}

}  // namespace
}  // namespace kuryr::binding
