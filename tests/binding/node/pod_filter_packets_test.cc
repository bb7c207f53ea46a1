#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/binding/node/pod_filter_fixture.h"

// What the filter makes of packets that are no plain TCP.

namespace kuryr::binding {
namespace {

constexpr size_t kSeveralFragments = 4000;
constexpr std::chrono::milliseconds kQuiet(500);
constexpr std::array kOfTwo = {"10.0.2.2", "fd00:2::2"};

class PodFilterPacketsTest : public PodFilterTest {
 protected:
  /// Pod two receives this alone.
  void ReceivesOnly(FilterRule::Protocol protocol) {
    for (const char* address : kOfTwo) {
      Receives(address, {{.protocol = protocol, .ports = {{kPort, kPort}}, .verdict = kAccept}});
    }
    Apply();
  }

  /// A socket of pod two that gets all packets of the protocol, or the datagrams to the port.
  UniqueFd Receiver(const std::string& address, int type, int protocol, uint16_t port = 0) const {
    const NetnsGuard guard(*two_);
    UniqueFd fd = SocketOf(address, type, protocol);
    if (port != 0) {
      // Its own address and this port: connected to nobody.
      sockaddr_in6 any6{.sin6_family = AF_INET6, .sin6_port = htons(port)};
      sockaddr_in any{.sin_family = AF_INET, .sin_port = htons(port)};
      const bool ipv4 = Ip(address).family == IpFamily::kIpv4;
      EXPECT_EQ(
          ::bind(fd.get(),
                 ipv4 ? reinterpret_cast<sockaddr*>(&any) : reinterpret_cast<sockaddr*>(&any6),
                 ipv4 ? sizeof any : sizeof any6),
          0);
    }
    return fd;
  }
  void Send(const std::string& address, int type, int protocol, uint16_t port,
            const std::vector<uint8_t>& bytes) const {
    const NetnsGuard guard(*one_);
    const UniqueFd fd = SocketOf(address, type, protocol);
    ASSERT_EQ(ConnectTo(fd, address, type == SOCK_RAW ? 0 : port), 0);
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
  }
  static bool Gets(const UniqueFd& fd, std::chrono::milliseconds time) {
    pollfd poll = {.fd = fd.get(), .events = POLLIN, .revents = 0};
    return ::poll(&poll, 1, static_cast<int>(time.count())) == 1;
  }
};

uint32_t Crc32c(const std::vector<uint8_t>& bytes) {
  uint32_t crc = UINT32_MAX;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

/// A packet that begins an association (RFC 9260, 3.3.2).
std::vector<uint8_t> SctpInit(uint16_t port) {
  std::vector<uint8_t> packet = {0x30,
                                 0x39,
                                 uint8_t(port >> 8),
                                 uint8_t(port),
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 1,
                                 0,
                                 0,
                                 20,
                                 0,
                                 0,
                                 0,
                                 1,
                                 0,
                                 1,
                                 0,
                                 0,
                                 0,
                                 1,
                                 0,
                                 1,
                                 0,
                                 0,
                                 0,
                                 1};
  const uint32_t crc = Crc32c(packet);
  for (size_t i = 0; i < 4; ++i) packet[8 + i] = uint8_t(crc >> (8 * i));
  return packet;
}

TEST_F(PodFilterPacketsTest, DatagramInFragmentsMeetsTheRuleOfItsPort) {
  ReceivesOnly(FilterRule::Protocol::kUdp);

  for (const char* address : kOfTwo) {
    const UniqueFd open = Receiver(address, SOCK_DGRAM, 0, kPort);
    const UniqueFd closed = Receiver(address, SOCK_DGRAM, 0, kPort + 1);
    Send(address, SOCK_DGRAM, 0, kPort, std::vector<uint8_t>(kSeveralFragments));
    Send(address, SOCK_DGRAM, 0, kPort + 1, std::vector<uint8_t>(kSeveralFragments));
    EXPECT_TRUE(Gets(open, std::chrono::seconds(20))) << address;
    EXPECT_FALSE(Gets(closed, kQuiet)) << address;
  }
}

TEST_F(PodFilterPacketsTest, SctpMeetsRulesOfItsPorts) {
  ReceivesOnly(FilterRule::Protocol::kSctp);

  for (const char* address : kOfTwo) {
    const UniqueFd packets = Receiver(address, SOCK_RAW, IPPROTO_SCTP);
    Send(address, SOCK_RAW, IPPROTO_SCTP, 0, SctpInit(kPort + 1));
    EXPECT_FALSE(Gets(packets, kQuiet)) << address;
    Send(address, SOCK_RAW, IPPROTO_SCTP, 0, SctpInit(kPort));
    EXPECT_TRUE(Gets(packets, std::chrono::seconds(20))) << address;
    EXPECT_TRUE(IsCut(*one_, address)) << "TCP to the same port";
  }
}

TEST_F(PodFilterPacketsTest, ErrorsAboutPacketsThatPassedPassAndOthersDoNot) {
  for (const char* address : kOfTwo) Sends(address, {});
  Apply();

  for (const char* address : kOfTwo) {
    const NetnsGuard guard(*one_);
    const UniqueFd fd = SocketOf(address, SOCK_DGRAM);
    ASSERT_EQ(ConnectTo(fd, address, kPort), 0);
    ASSERT_EQ(::send(fd.get(), "", 1, 0), 1);
    ASSERT_TRUE(Gets(fd, std::chrono::seconds(20))) << address;
    EXPECT_EQ(::send(fd.get(), "", 1, 0), -1) << address;
    EXPECT_EQ(errno, ECONNREFUSED) << "nobody listens: pod two said so";
  }
  const auto ping =
      test::RunProgram({.argv = {"nsenter", "--net=/proc/self/fd/" + std::to_string(two_->fd()),
                                 "ping", "-n", "-c", "1", "-W", "1", "10.0.1.2"}});
  EXPECT_NE(ping.status, 0) << "a message that nobody asked for";
}

TEST_F(PodFilterPacketsTest, NodeReachesAPodThatMayNeitherSendNorReceive) {
  for (const char* address : kOfTwo) {
    Sends(address, {});
    Receives(address, {});
  }
  Apply();

  for (const char* address : kOfTwo) {
    EXPECT_TRUE(Reaches(Netns::Current(), address));
    EXPECT_TRUE(IsCut(*one_, address));
  }
}

TEST_F(PodFilterPacketsTest, PacketsThatWaitForANewPodAreDropped) {
  constexpr const char* kNew = "10.0.2.9";
  const UniqueFd packets = Receiver(kNew, SOCK_RAW, IPPROTO_UDP);
  Send(kNew, SOCK_DGRAM, 0, kPort, {1});
  while (RunOnHost({"ip", "neighbour", "show", kNew}).empty()) std::this_thread::yield();
  Receives(kNew, {});
  Apply();

  DropWaitingPackets({Ip(kNew)});

  RunIn(*two_, {"ip", "address", "add", std::string(kNew) + "/24", "dev", "eth0"});
  EXPECT_FALSE(Gets(packets, 3 * kQuiet)) << "the kernel asks for the MAC each second";
}

/// As kube-proxy has a NodePort with externalTrafficPolicy Cluster, and portmap a hostPort.
TEST_F(PodFilterPacketsTest, ClientOfANodesPortHasItsOwnAddressAtTheRules) {
  for (const auto& [family, node, pod, client] :
       {std::array{"ip", "10.0.1.1", "10.0.2.2", "10.0.1.2"},
        std::array{"ip6", "fd00:1::1", "fd00:2::2", "fd00:1::2"}}) {
    const std::string table = std::string(family) + " ports";
    const std::string target =
        Ip(pod).family == IpFamily::kIpv4 ? std::string(pod) : "[" + std::string(pod) + "]";
    RunOnHost({"nft", "add table " + table + "; add chain " + table +
                          " pre { type nat hook prerouting priority dstnat; }; add rule " + table +
                          " pre " + family + " daddr " + node + " tcp dport 30080 dnat to " +
                          target + ":8080; add chain " + table +
                          " post { type nat hook postrouting priority srcnat; }; add rule " +
                          table + " post " + family + " daddr " + pod + " masquerade"});
    const IpFamily of = Ip(pod).family;
    sets_["clients"] = {};
    Receives(pod, {From("clients", of)});
    Apply({"clients"});
    EXPECT_TRUE(IsCut(*one_, node, 30080)) << node;

    sets_["clients"] = {Ip(client)};
    Apply({"clients"});

    EXPECT_TRUE(Reaches(*one_, node, 30080)) << node;
  }
}

}  // namespace
}  // namespace kuryr::binding
