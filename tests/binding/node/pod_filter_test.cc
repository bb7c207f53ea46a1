#include "binding/node/pod_filter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kDrop = FilterRule::Verdict::kDrop;
constexpr auto kAccept = FilterRule::Verdict::kAccept;
constexpr uint16_t kPort = 8080;
/// Links' own addresses of IPv6 are of use at once.
constexpr const char* kNoDetection = "net.ipv6.conf.default.accept_dad=0";

IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }

FilterRule From(const std::string& set, IpFamily family = IpFamily::kIpv4) {
  return {.family = family, .set = set, .verdict = kAccept};
}

/// A node that forwards between pods "one" (10.0.1.2, fd00:1::2) and "two" (10.0.2.2, fd00:2::2),
/// each behind a link of its own.
class PodFilterTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    const auto probe = test::RunProgram({.argv = {"nft", "--check", "table inet probe { }"}});
    if (probe.status != 0) GTEST_SKIP() << "no nf_tables here: " << probe.err;
    for (const char* setting :
         {"net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", kNoDetection})
      RunOnHost({"sysctl", "-qw", setting});
    one_.emplace(MakePod("1"));
    two_.emplace(MakePod("2"));
  }

  Netns MakePod(const std::string& n) {
    Netns pod = MakePodNetns();
    RunIn(pod, {"sysctl", "-qw", kNoDetection});
    RouteSocket().CreateVeth({.name = "pod" + n, .peer_name = "eth0", .peer_netns_fd = pod.fd()});
    RunOnHost({"ip", "address", "add", "10.0." + n + ".1/24", "dev", "pod" + n});
    RunOnHost({"ip", "address", "add", "fd00:" + n + "::1/64", "dev", "pod" + n, "nodad"});
    RunOnHost({"ip", "link", "set", "pod" + n, "up"});
    RunIn(pod, {"ip", "address", "add", "10.0." + n + ".2/24", "dev", "eth0"});
    RunIn(pod, {"ip", "address", "add", "fd00:" + n + "::2/64", "dev", "eth0", "nodad"});
    for (const char* link : {"lo", "eth0"}) RunIn(pod, {"ip", "link", "set", link, "up"});
    RunIn(pod, {"ip", "route", "add", "default", "via", "10.0." + n + ".1"});
    RunIn(pod, {"ip", "-6", "route", "add", "default", "via", "fd00:" + n + "::1"});
    return pod;
  }

  void Apply(const std::set<std::string>& changed = {}) {
    filter_.Apply(wanted_, [this](const std::string& set) { return sets_[set]; }, changed);
  }
  /// Has the address receive, or send, by these rules alone.
  void SetChain(const std::string& address, PacketEnd pod, std::vector<FilterRule> rules) {
    const FilterChain chain = {.pod = pod, .rules = std::move(rules)};
    wanted_.chains[NameOf(chain)] = chain;
    (pod == PacketEnd::kSource ? wanted_.senders : wanted_.receivers)[Ip(address)] = NameOf(chain);
  }
  void Receives(const std::string& address, std::vector<FilterRule> rules) {
    rules.push_back({.verdict = kDrop});
    SetChain(address, PacketEnd::kDestination, std::move(rules));
  }
  void Sends(const std::string& address, std::vector<FilterRule> rules) {
    rules.push_back({.verdict = kDrop});
    SetChain(address, PacketEnd::kSource, std::move(rules));
  }

  static bool Reaches(const Netns& netns, const std::string& address, uint16_t port = kPort) {
    return IsAnswered(netns, address, port, std::chrono::seconds(20));
  }
  static bool IsCut(const Netns& netns, const std::string& address, uint16_t port = kPort) {
    return !IsAnswered(netns, address, port, std::chrono::milliseconds(500));
  }
  /// Whether a connection from `netns` is refused in time, as nobody listens.
  static bool IsAnswered(const Netns& netns, const std::string& address, uint16_t port,
                         std::chrono::milliseconds time) {
    const NetnsGuard guard(netns);
    const IpAddress to = Ip(address);
    const bool ipv4 = to.family == IpFamily::kIpv4;
    const UniqueFd fd(
        ::socket(ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in in{.sin_family = AF_INET, .sin_port = htons(port)};
    sockaddr_in6 in6{.sin6_family = AF_INET6, .sin6_port = htons(port)};
    std::copy_n(to.bytes.begin(), 4, reinterpret_cast<uint8_t*>(&in.sin_addr));
    std::copy_n(to.bytes.begin(), 16, reinterpret_cast<uint8_t*>(&in6.sin6_addr));
    const int refused = ipv4 ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&in), sizeof in)
                             : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&in6), sizeof in6);
    if (refused != 0 && errno != EINPROGRESS) return errno == ECONNREFUSED;
    pollfd poll = {.fd = fd.get(), .events = POLLOUT, .revents = 0};
    return ::poll(&poll, 1, static_cast<int>(time.count())) == 1;
  }
  static std::string Listed() { return RunOnHost({"nft", "list", "table", "inet", kPolicyTable}); }

  std::optional<Netns> one_;
  std::optional<Netns> two_;
  std::map<std::string, PodFilter::Addresses> sets_;
  Filter wanted_;
  PodFilter filter_;
};

TEST_F(PodFilterTest, OnlyThePodWithAChainIsIsolated) {
  Receives("10.0.2.2", {});
  Apply();

  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));
  EXPECT_TRUE(Reaches(*one_, "fd00:2::2")) << "this address has no chain";
  EXPECT_TRUE(Reaches(*two_, "10.0.1.2")) << "replies pass";
  EXPECT_TRUE(Reaches(Netns::Current(), "10.0.2.2")) << "the node itself";
}

TEST_F(PodFilterTest, PeersOfASetPassOnTheirPorts) {
  sets_["app=one"] = {Ip("10.0.1.2"), Ip("fd00:1::2")};
  for (const char* address : {"10.0.2.2", "fd00:2::2"}) {
    FilterRule rule = From("app=one", Ip(address).family);
    rule.protocol = FilterRule::Protocol::kTcp;
    rule.ports = {{kPort, kPort}, {9000, 9010}};
    Receives(address, {rule});
  }
  Apply();

  for (const char* address : {"10.0.2.2", "fd00:2::2"}) {
    EXPECT_TRUE(Reaches(*one_, address));
    EXPECT_TRUE(Reaches(*one_, address, 9010));
    EXPECT_TRUE(IsCut(*one_, address, 9011));
  }
}

TEST_F(PodFilterTest, AddressThatJoinsOrLeavesASetChangesNothingElse) {
  sets_["app=one"] = {};
  Receives("10.0.2.2", {From("app=one")});
  Apply();
  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));

  sets_["app=one"] = {Ip("10.0.1.2")};
  Apply({"app=one"});

  EXPECT_TRUE(Reaches(*one_, "10.0.2.2"));
  sets_["app=one"] = {};
  Apply({"app=one"});
  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));
}

TEST_F(PodFilterTest, BlocksAndTheNodeAsAReceiver) {
  FilterRule block = {.family = IpFamily::kIpv4, .verdict = kAccept};
  const std::vector<IpNetwork> networks = {IpNetwork::Parse("10.0.2.0/24").value()};
  block.blocks = IntervalsOf(networks, IpFamily::kIpv4);
  Sends("10.0.1.2", {block});
  Sends("fd00:1::2", {});
  Apply();

  EXPECT_TRUE(Reaches(*one_, "10.0.2.2"));
  EXPECT_TRUE(IsCut(*one_, "10.0.1.1")) << "the node is no peer";
  EXPECT_TRUE(IsCut(*one_, "fd00:2::2"));
  EXPECT_TRUE(Reaches(*two_, "fd00:1::2")) << "the replies, and the neighbour's address";
}

TEST_F(PodFilterTest, ConnectionThatAChangeForbidsEndsWithItsNextPacket) {
  Receives("10.0.2.2", {{.verdict = kAccept}});
  Apply();
  auto ping = [&] {
    const NetnsGuard guard(*one_);
    return test::RunProgram({.argv = {"ping", "-c", "1", "-W", "1", "-e", "7", "10.0.2.2"}}).status;
  };
  ASSERT_EQ(ping(), 0);

  wanted_ = {};
  Receives("10.0.2.2", {});
  Apply();

  EXPECT_NE(ping(), 0) << "conntrack knows the identifier";
}

TEST_F(PodFilterTest, PodReachesItselfBehindATranslation) {
  RunOnHost(
      {"nft",
       "add table ip svc; add chain ip svc pre { type nat hook prerouting priority dstnat; }; "
       "add rule ip svc pre ip daddr 10.96.0.1 dnat to 10.0.1.2; "
       "add chain ip svc post { type nat hook postrouting priority srcnat; }; "
       "add rule ip svc post ip saddr 10.0.1.2 ip daddr 10.0.1.2 masquerade"});
  Sends("10.0.1.2", {});
  Receives("10.0.1.2", {});
  Apply();

  EXPECT_TRUE(Reaches(*one_, "10.96.0.1"));
}

TEST_F(PodFilterTest, NothingIsLeftOfWhatNoPodNeeds) {
  sets_["a"] = {Ip("10.0.1.2")};
  Receives("10.0.2.2", {From("a")});
  Apply();
  wanted_ = {};
  sets_["b"] = {};
  Receives("10.0.2.2", {From("b")});
  Apply();
  EXPECT_THAT(Listed(), Not(HasSubstr("10.0.1.2")));
  EXPECT_EQ(wanted_.chains.size(), 1U);

  wanted_ = {};
  Apply();

  EXPECT_THAT(RunOnHost({"nft", "list", "ruleset"}), Not(HasSubstr(kPolicyTable)));
}

TEST_F(PodFilterTest, WhatAnotherProcessLeftIsReplacedAndALossIsSeen) {
  Receives("10.0.2.2", {});
  Apply();
  EXPECT_TRUE(filter_.IsThere());
  PodFilter next;
  wanted_ = {};
  Receives("10.0.1.2", {});
  next.Apply(wanted_, [this](const std::string& set) { return sets_[set]; }, {});
  EXPECT_TRUE(Reaches(*one_, "10.0.2.2"));
  EXPECT_TRUE(IsCut(*two_, "10.0.1.2"));
  EXPECT_FALSE(filter_.IsThere());

  RunOnHost({"nft", "flush", "ruleset"});
  EXPECT_FALSE(next.IsThere());
  next.Distrust();
  next.Apply(wanted_, [this](const std::string& set) { return sets_[set]; }, {});

  EXPECT_TRUE(IsCut(*two_, "10.0.1.2"));
  EXPECT_TRUE(next.IsThere());
}

}  // namespace
}  // namespace kuryr::binding
