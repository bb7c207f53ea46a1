#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "binding/netlink/route_socket.h"
#include "binding/node/pod_filter.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {

/// A node that forwards between pods "one" (10.0.1.2, fd00:1::2) and "two" (10.0.2.2, fd00:2::2),
/// each behind a link of its own.
class PodFilterTest : public test::NetnsTest {
 protected:
  static constexpr auto kDrop = FilterRule::Verdict::kDrop;
  static constexpr auto kAccept = FilterRule::Verdict::kAccept;
  static constexpr uint16_t kPort = 8080;
  /// Links' own addresses of IPv6 are of use at once.
  static constexpr const char* kNoDetection = "net.ipv6.conf.default.accept_dad=0";

  static IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }
  static FilterRule From(const std::string& set, IpFamily family = IpFamily::kIpv4) {
    return {.family = family, .set = set, .verdict = kAccept};
  }

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
    wanted_.chains[NameOf(chain)] = std::make_shared<FilterChain>(chain);
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
  /// In the namespace of the thread, and of the address' family.
  static UniqueFd SocketOf(const std::string& address, int type, int protocol = 0) {
    const bool ipv4 = Ip(address).family == IpFamily::kIpv4;
    return UniqueFd(::socket(ipv4 ? AF_INET : AF_INET6, type | SOCK_CLOEXEC, protocol));
  }
  static int ConnectTo(const UniqueFd& fd, const std::string& address, uint16_t port) {
    const IpAddress to = Ip(address);
    sockaddr_in in{.sin_family = AF_INET, .sin_port = htons(port)};
    sockaddr_in6 in6{.sin6_family = AF_INET6, .sin6_port = htons(port)};
    std::copy_n(to.bytes.begin(), 4, reinterpret_cast<uint8_t*>(&in.sin_addr));
    std::copy_n(to.bytes.begin(), 16, reinterpret_cast<uint8_t*>(&in6.sin6_addr));
    return to.family == IpFamily::kIpv4
               ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&in), sizeof in)
               : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&in6), sizeof in6);
  }
  /// Whether a connection from `netns` is refused in time, as nobody listens.
  static bool IsAnswered(const Netns& netns, const std::string& address, uint16_t port,
                         std::chrono::milliseconds time) {
    const NetnsGuard guard(netns);
    const UniqueFd fd = SocketOf(address, SOCK_STREAM | SOCK_NONBLOCK);
    if (ConnectTo(fd, address, port) != 0 && errno != EINPROGRESS) return errno == ECONNREFUSED;
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

}  // namespace kuryr::binding
