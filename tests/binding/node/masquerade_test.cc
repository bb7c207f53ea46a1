#include "binding/node/masquerade.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "tests/binding/node/local_bridge_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

sockaddr_in6 SocketAddress(const IpAddress& address, uint16_t port) {
  sockaddr_in6 out{.sin6_family = AF_INET6, .sin6_port = htons(port)};
  const std::string mapped =
      (address.family == IpFamily::kIpv4 ? "::ffff:" : "") + address.ToString();
  ::inet_pton(AF_INET6, mapped.c_str(), &out.sin6_addr);
  return out;
}

/// IPv4 too, as ::ffff:ADDRESS.
UniqueFd OpenUdpSocket(const Netns& netns) {
  const NetnsGuard guard(netns);
  UniqueFd fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 10};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

class MasqueradeTest : public LocalBridgeTest {
 protected:
  void SetUp() override {
    LocalBridgeTest::SetUp();
    if (const auto reason = NatUnavailable()) GTEST_SKIP() << *reason;
  }
  /// Everything but 192.0.2.0/24 and fd09::/64 is masqueraded.
  void MakeMasqueradingBridge() {
    LocalBridge wanted = Cni0();
    wanted.non_masquerade_cidrs = {Net("192.0.2.0/24"), Net("fd09::/64")};
    Make(wanted);
    RunOnHost({"ip", "route", "add", "198.51.100.9", "via", "192.0.2.9"});
    RunOnHost({"ip", "route", "add", "fd0a::9", "via", "fd09::9"});
  }
  /// Whom the outside, listening at `destination`, takes for the sender of a packet from `pod`.
  std::string SenderSeen(const Pod& pod, const std::string& destination) {
    const UniqueFd server = OpenUdpSocket(*outside_);
    const UniqueFd client = OpenUdpSocket(pod.netns);
    const sockaddr_in6 there = SocketAddress(IpAddress::Parse(destination).value(), 9999);
    const auto* address = reinterpret_cast<const sockaddr*>(&there);
    if (::bind(server.get(), address, sizeof there) != 0) ThrowErrno("bind " + destination);
    if (::sendto(client.get(), "hello", 5, 0, address, sizeof there) != 5)
      ThrowErrno("send to " + destination);
    sockaddr_in6 sender{};
    socklen_t size = sizeof sender;
    char text[16];
    if (::recvfrom(server.get(), text, sizeof text, 0, reinterpret_cast<sockaddr*>(&sender),
                   &size) != 5)
      ThrowErrno("receive at " + destination);
    char name[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &sender.sin6_addr, name, sizeof name);
    const std::string seen = name;
    return seen.starts_with("::ffff:") ? seen.substr(7) : seen;
  }
  /// The rules of the chain, as nft prints them.
  static std::vector<std::string> RulesOf(const std::string& bridge) {
    const std::string text =
        RunOnHost({"nft", "list", "chain", "inet", "kuryr-cni", "masquerade-" + bridge});
    std::vector<std::string> rules;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      if (line.find("saddr") != std::string::npos) rules.push_back(line.substr(2));
    return rules;
  }
  static json Ruleset() {
    return ParseJson(RunOnHost({"nft", "-j", "list", "ruleset"})).at("nftables");
  }
  static std::string RulesetText() { return RunOnHost({"nft", "list", "ruleset"}); }
};

TEST_F(MasqueradeTest, RulesAreAsNftWritesThem) {
  ApplyMasquerade(
      {.bridge = "cni0",
       .pods = {Net("10.1.0.254/22"), Net("fd00::ff/61")},
       .non_masquerade_cidrs = {Net("10.0.0.0/8"), Net("172.16.0.0/13"), Net("fd00::/8")}});

  EXPECT_THAT(RulesOf("cni0"),
              ::testing::ElementsAre("ip saddr 10.1.0.0/22 ip daddr 10.0.0.0/8 return",
                                     "ip saddr 10.1.0.0/22 ip daddr 10.1.0.0/22 return",
                                     "ip saddr 10.1.0.0/22 ip daddr 172.16.0.0/13 return",
                                     "ip saddr 10.1.0.0/22 ip daddr 224.0.0.0/4 return",
                                     "ip saddr 10.1.0.0/22 masquerade fully-random",
                                     "ip6 saddr fd00::/61 ip6 daddr fd00::/8 return",
                                     "ip6 saddr fd00::/61 ip6 daddr fd00::/61 return",
                                     "ip6 saddr fd00::/61 ip6 daddr ff00::/8 return",
                                     "ip6 saddr fd00::/61 masquerade fully-random"));
  const json ruleset = Ruleset();
  const auto chain = std::find_if(ruleset.begin(), ruleset.end(),
                                  [](const json& object) { return object.contains("chain"); });
  ASSERT_NE(chain, ruleset.end());
  EXPECT_EQ(chain->at("chain").at("family"), "inet");
  EXPECT_EQ(chain->at("chain").at("table"), "kuryr-cni");
  EXPECT_EQ(chain->at("chain").at("type"), "nat");
  EXPECT_EQ(chain->at("chain").at("hook"), "postrouting");
  EXPECT_EQ(chain->at("chain").at("prio"), 100);
}

TEST_F(MasqueradeTest, OutsideSeesTheNodeUnlessItIsInANonMasqueradeCidr) {
  MakeMasqueradingBridge();
  RunIn(*outside_, {"ip", "route", "add", "10.1.0.0/24", "via", "192.0.2.1"});
  RunIn(*outside_, {"ip", "route", "add", "fd00::/64", "via", "fd09::1"});
  const Pod pod = MakeConnectedPod(1);

  EXPECT_EQ(SenderSeen(pod, "198.51.100.9"), "192.0.2.1");
  EXPECT_EQ(SenderSeen(pod, "fd0a::9"), "fd09::1");
  EXPECT_EQ(SenderSeen(pod, "192.0.2.9"), "10.1.0.1");
  EXPECT_EQ(SenderSeen(pod, "fd09::9"), "fd00::1");
}

TEST_F(MasqueradeTest, OutsideNeedsNoRouteToThePods) {
  MakeMasqueradingBridge();
  const Pod pod = MakeConnectedPod(1);

  Ping(pod, "198.51.100.9");
  Ping(pod, "fd0a::9");
}

TEST_F(MasqueradeTest, PodsSeeEachOther) {
  MakeMasqueradingBridge();
  const Pod pod = MakeConnectedPod(1);
  outside_.emplace(MakeConnectedPod(2).netns);

  EXPECT_EQ(SenderSeen(pod, "10.1.0.2"), "10.1.0.1");
  EXPECT_EQ(SenderSeen(pod, "fd00::2"), "fd00::1");
}

TEST_F(MasqueradeTest, NodesOwnPacketsAreLeftAlone) {
  MakeMasqueradingBridge();
  RunOnHost({"ip", "address", "add", "10.3.0.1/32", "dev", "uplink"});
  RunOnHost({"ip", "route", "replace", "198.51.100.9", "via", "192.0.2.9", "src", "10.3.0.1"});
  const Pod node{.attachment = {}, .netns = Netns::Current()};

  EXPECT_EQ(SenderSeen(node, "198.51.100.9"), "10.3.0.1");
}

TEST_F(MasqueradeTest, FamilyWithoutACidrIsNotMasqueraded) {
  ApplyMasquerade({.bridge = "cni0",
                   .pods = {Net("10.1.0.254/24"), Net("fd00::ff/64")},
                   .non_masquerade_cidrs = {Net("10.0.0.0/8")}});

  EXPECT_THAT(RulesOf("cni0"), Each(Not(HasSubstr("ip6"))));
}

TEST_F(MasqueradeTest, ApplyReplacesWhatWasThere) {
  const Masquerade first{.bridge = "cni0",
                         .pods = {Net("10.1.0.254/24")},
                         .non_masquerade_cidrs = {Net("10.0.0.0/8")}};
  Masquerade second = first;
  second.non_masquerade_cidrs = {Net("0.0.0.0/0")};
  ApplyMasquerade(first);
  const std::string before = RunOnHost({"nft", "-a", "list", "ruleset"});

  ApplyMasquerade(first);
  EXPECT_EQ(RunOnHost({"nft", "-a", "list", "ruleset"}), before) << "the rules' handles too";
  ApplyMasquerade(second);

  EXPECT_EQ(RulesOf("cni0").front(), "ip saddr 10.1.0.0/24 return");
  EXPECT_EQ(RulesOf("cni0").size(), 4U);
}

TEST_F(MasqueradeTest, ApplyRepairsWhatOthersChanged) {
  const auto apply = [] {
    ApplyMasquerade({.bridge = "cni0",
                     .pods = {Net("10.1.0.254/24")},
                     .non_masquerade_cidrs = {Net("10.0.0.0/8")}});
  };
  apply();
  const std::string before = RulesetText();

  for (const char* change : {"flush ruleset", "flush chain inet kuryr-cni masquerade-cni0",
                             "insert rule inet kuryr-cni masquerade-cni0 accept"}) {
    RunOnHost({"nft", change});
    ASSERT_NE(RulesetText(), before);
    apply();
    EXPECT_EQ(RulesetText(), before) << change;
  }
}

TEST_F(MasqueradeTest, BridgesAndOtherTablesDoNotDisturbEachOther) {
  RunOnHost(
      {"nft", "table inet other { chain c { type nat hook postrouting priority srcnat; }; }"});
  const std::string others = RulesetText();
  const auto apply = [](const std::string& bridge, const std::string& pods) {
    ApplyMasquerade(
        {.bridge = bridge, .pods = {Net(pods)}, .non_masquerade_cidrs = {Net("10.0.0.0/8")}});
  };
  apply("cni0", "10.1.0.254/24");
  const auto rules = RulesOf("cni0");

  apply("cni1", "10.2.0.254/24");
  EXPECT_EQ(RulesOf("cni0"), rules);
  EXPECT_TRUE(RemoveMasquerade("cni1"));
  EXPECT_EQ(RulesOf("cni0"), rules);
  EXPECT_TRUE(RemoveMasquerade("cni0"));

  EXPECT_EQ(RulesetText(), others);
}

/// One of several networks on "cni0", as an ADD with ipMasq makes it.
LocalBridge Masquerading(const std::string& gateway) {
  const std::vector<IpNetwork> gateways = {IpNetwork::Parse(gateway).value()};
  return {.name = "cni0", .gateways = gateways, .non_masquerade_cidrs = gateways};
}

TEST_F(MasqueradeTest, NetworksOnOneBridgeAreMasqueradedTogether) {
  Make(Masquerading("10.1.0.254/24"));
  RunOnHost({"ip", "route", "add", "198.51.100.9", "via", "192.0.2.9"});
  RunOnHost({"ip", "route", "add", "fd0a::9", "via", "fd09::9"});
  const Pod first = MakeConnectedPod(1);

  Make(Masquerading("10.2.0.254/24"));
  Make(Masquerading("fd00::ff/64"));

  EXPECT_EQ(SenderSeen(first, "198.51.100.9"), "192.0.2.1");
  EXPECT_EQ(SenderSeen(first, "fd0a::9"), "fd09::1");
  EXPECT_THAT(RulesOf("cni0"),
              ::testing::ElementsAre("ip saddr 10.1.0.0/24 ip daddr 10.1.0.0/24 return",
                                     "ip saddr 10.1.0.0/24 ip daddr 10.2.0.0/24 return",
                                     "ip saddr 10.1.0.0/24 ip daddr 224.0.0.0/4 return",
                                     "ip saddr 10.1.0.0/24 masquerade fully-random",
                                     "ip saddr 10.2.0.0/24 ip daddr 10.1.0.0/24 return",
                                     "ip saddr 10.2.0.0/24 ip daddr 10.2.0.0/24 return",
                                     "ip saddr 10.2.0.0/24 ip daddr 224.0.0.0/4 return",
                                     "ip saddr 10.2.0.0/24 masquerade fully-random",
                                     "ip6 saddr fd00::/64 ip6 daddr fd00::/64 return",
                                     "ip6 saddr fd00::/64 ip6 daddr ff00::/8 return",
                                     "ip6 saddr fd00::/64 masquerade fully-random"));
  const std::string before = RunOnHost({"nft", "-a", "list", "ruleset"});
  for (const char* gateway : {"10.1.0.254/24", "10.2.0.254/24", "fd00::ff/64"})
    Make(Masquerading(gateway));
  EXPECT_EQ(RunOnHost({"nft", "-a", "list", "ruleset"}), before) << "the rules' handles too";
}

TEST_F(MasqueradeTest, NetworkThatTheBridgeHasNoMoreIsForgotten) {
  Make(Masquerading("10.1.0.254/24"));
  RunOnHost({"ip", "address", "del", "10.1.0.254/24", "dev", "cni0"});

  Make(Masquerading("10.2.0.254/24"));

  EXPECT_THAT(RulesOf("cni0"), Each(Not(HasSubstr("10.1.0.0"))));
}

TEST_F(MasqueradeTest, OtherAddressesOfTheBridgeAreNotMasqueraded) {
  RunOnHost({"ip", "link", "add", "cni0", "up", "type", "bridge"});
  RunOnHost({"ip", "address", "add", "203.0.113.1/24", "dev", "cni0"});
  LocalBridge plain = Masquerading("10.2.0.254/24");
  plain.non_masquerade_cidrs.clear();
  Make(plain);

  Make(Masquerading("10.1.0.254/24"));

  EXPECT_THAT(RulesOf("cni0"), Each(HasSubstr("saddr 10.1.0.0/24")));
  EXPECT_THAT(RulesOf("cni0"), Each(Not(HasSubstr("203.0.113.0"))))
      << "neighbours without a route to the pods see the node";
}

TEST_F(MasqueradeTest, NetworksThatComeAtOnceAreAllMasqueraded) {
  const Netns host = Netns::Current();
  std::vector<std::jthread> threads;
  for (int i = 1; i <= 8; ++i) {
    threads.emplace_back([gateway = "10." + std::to_string(i) + ".0.254/24", &host] {
      const NetnsGuard guard(host);
      Make(Masquerading(gateway));
    });
  }
  threads.clear();

  for (int i = 1; i <= 8; ++i) {
    EXPECT_THAT(RulesOf("cni0"),
                Contains("ip saddr 10." + std::to_string(i) + ".0.0/24 masquerade fully-random"));
  }
}

TEST_F(MasqueradeTest, RemoveLeavesNothingAndMayBeRepeated) {
  EXPECT_FALSE(RemoveMasquerade("cni0"));
  MakeMasqueradingBridge();

  EXPECT_TRUE(RemoveMasquerade("cni0"));
  EXPECT_FALSE(RemoveMasquerade("cni0"));

  EXPECT_THAT(RulesetText(), IsEmpty());
  const Pod pod = MakeConnectedPod(1);
  RunIn(*outside_, {"ip", "route", "add", "10.1.0.0/24", "via", "192.0.2.1"});
  EXPECT_EQ(SenderSeen(pod, "198.51.100.9"), "10.1.0.1");
}

TEST_F(MasqueradeTest, RefusalLeavesNothing) {
  const std::string too_long(300, 'a');

  try {
    ApplyMasquerade({.bridge = too_long,
                     .pods = {Net("10.1.0.254/24")},
                     .non_masquerade_cidrs = {Net("10.0.0.0/8")}});
    ADD_FAILURE() << "accepted";
  } catch (const std::system_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("masquerade the pods of bridge aaa"));
  }

  EXPECT_THAT(RulesetText(), IsEmpty());
}

TEST_F(MasqueradeTest, ManyBridgesAtOnce) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([bridge = "cni" + std::to_string(i)] {
      for (int round = 0; round < 3; ++round) {
        ApplyMasquerade({.bridge = bridge,
                         .pods = {Net("10.1.0.254/24")},
                         .non_masquerade_cidrs = {Net("10.0.0.0/8")}});
        EXPECT_TRUE(RemoveMasquerade(bridge));
      }
    });
  }
  threads.clear();

  EXPECT_THAT(RulesetText(), IsEmpty());
}

}  // namespace
}  // namespace kuryr::binding
