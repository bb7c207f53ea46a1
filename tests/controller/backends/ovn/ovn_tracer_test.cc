#include "controller/backends/ovn/ovn_tracer.h"

#include <gmock/gmock.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "controller/backends/ovn/topology.h"
#include "tests/support/paths.h"

namespace kuryr::controller::ovn {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

vif::Subnet SubnetOf(const std::string& cidr, const std::optional<std::string>& gateway) {
  vif::Subnet subnet;
  subnet.cidr = IpNetwork::Parse(cidr).value();
  if (gateway) subnet.gateway = IpAddress::Parse(*gateway).value();
  return subnet;
}

/// A pod's interface with one address on one subnet.
vif::VifBase VifOf(const std::string& id, vif::Subnet subnet, const std::string& address) {
  vif::VifBase made;
  made.id = id;
  made.address = MacAddress{.bytes = {0x0a, 0x58, 0, 0, 0, static_cast<uint8_t>(id.back())}};
  vif::FixedIp fixed;
  fixed.address = IpAddress::Parse(address).value();
  subnet.ips = vif::FixedIpList{.objects = std::vector{fixed}};
  vif::Network network;
  network.subnets = vif::SubnetList{.objects = std::vector{subnet}};
  made.network = network;
  return made;
}

TracedPacket Ping(const vif::VifBase& from, const vif::VifBase& to) {
  return {.from = from, .to = to, .protocol = "", .port = 0};
}

const vif::VifBase kOne = VifOf("port1", SubnetOf("10.4.1.0/24", "10.4.1.1"), "10.4.1.2");

TEST(MicroflowTest, PeerOfTheSameNetworkIsTheNextHop) {
  const auto two = VifOf("port2", SubnetOf("10.4.1.0/24", "10.4.1.1"), "10.4.1.3");

  EXPECT_EQ(MicroflowOf({.from = kOne, .to = two, .protocol = "tcp", .port = 80}),
            "inport == \"port1\" && eth.src == 0a:58:00:00:00:31 && eth.dst == 0a:58:00:00:00:32 "
            "&& ip4.src == 10.4.1.2 && ip4.dst == 10.4.1.3 && ip.ttl == 64 && tcp.dst == 80");
}

TEST(MicroflowTest, RouterIsTheNextHopToAnotherNetwork) {
  const auto two = VifOf("port2", SubnetOf("10.4.2.0/24", "10.4.2.1"), "10.4.2.3");

  EXPECT_THAT(
      MicroflowOf(Ping(kOne, two)),
      HasSubstr("eth.dst == " + MacOfGateway(IpAddress::Parse("10.4.1.1").value()).ToString() +
                " && ip4.src == 10.4.1.2 && ip4.dst == 10.4.2.3 && ip.ttl == 64 && icmp4 "
                "&& icmp4.type == 8"));
}

TEST(MicroflowTest, PingsByIpv6) {
  const auto one = VifOf("port1", SubnetOf("fd00::/64", "fd00::1"), "fd00::2");
  const auto two = VifOf("port2", SubnetOf("fd00::/64", "fd00::1"), "fd00::3");

  EXPECT_THAT(MicroflowOf(Ping(one, two)),
              HasSubstr("ip6.src == fd00::2 && ip6.dst == fd00::3 && ip.ttl == 64 && icmp6 && "
                        "icmp6.type == 128"));
}

TEST(MicroflowTest, NamesWhyThereIsNone) {
  const auto alone = VifOf("port2", SubnetOf("10.9.0.0/24", std::nullopt), "10.9.0.2");
  const auto six = VifOf("port3", SubnetOf("fd00::/64", "fd00::1"), "fd00::3");

  EXPECT_THAT([&] { (void)MicroflowOf(Ping(alone, kOne)); },
              ThrowsMessage<std::runtime_error>(HasSubstr("OVN has no gateway")));
  EXPECT_THAT([&] { (void)MicroflowOf(Ping(kOne, six)); },
              ThrowsMessage<std::runtime_error>(HasSubstr("no addresses of one family")));
}

constexpr const char* kBegin =
    "# tcp,reg14=0x1\n\ningress(dp=\"s1\", inport=\"port1\")\n----\n"
    " 0. ls_in_check_port_sec (northd.c:8432): 1, priority 50, uuid 313f1efd\n"
    "    reg0[15] = check_in_port_sec();\n    next;\n";

TEST(FateTest, ArrivesWhereOvnPutsItOut) {
  const PacketFate fate =
      FateOf(std::string(kBegin) +
                 " 9. ls_out_apply_port_sec (northd.c:5777): 1, priority 0, uuid 4cef7bd6\n"
                 "    output;\n    /* output to \"port2\", type \"\" */\n",
             "port2");

  EXPECT_TRUE(fate.arrives);
  EXPECT_EQ(fate.where, "ls_out_apply_port_sec: 1, priority 0");
}

TEST(FateTest, EndsAtTheLastStageThatLooksAtIt) {
  const PacketFate fate =
      FateOf(std::string(kBegin) +
                 " 4. ls_out_acl (northd.c:6571): reg0[10] == 1 && (outport == @g && ip), priority "
                 "2000, uuid a63f5cba\n    ct_commit { ct_mark.blocked = 1; };\n",
             "port2");

  EXPECT_FALSE(fate.arrives);
  EXPECT_EQ(fate.where, "ls_out_acl: reg0[10] == 1 && (outport == @g && ip), priority 2000");
}

/// An output of OVN's own program, from tests/data/ovn-trace: port1's packet to TCP port 80 of
/// port2 ("allowed"), or 81 ("dropped").
PacketFate FateIn(const std::string& file) {
  return FateOf(
      ReadFile(test::TestData() + "/ovn-trace/" + file + ".txt", FileOwner::kAnybody).value(),
      "port2");
}

TEST(FateTest, NamesTheAclOfEachReleaseThatDrops) {
  const std::string match = "reg0[9] == 1 && (outport == @kuryr_2f1c && ip), priority 2000";
  for (const auto& [release, stage] : {std::pair{"23.03", "ls_out_acl"},
                                       {"25.03", "ls_out_acl_eval"},
                                       {"26.03", "ls_out_acl_eval"}}) {
    const PacketFate fate = FateIn(std::string("dropped-") + release);

    EXPECT_FALSE(fate.arrives) << release;
    EXPECT_EQ(fate.where, std::string(stage) + ": " + match) << release;
  }
}

TEST(FateTest, ArrivesInEachRelease) {
  for (const char* release : {"23.03", "25.03", "26.03"}) {
    const PacketFate fate = FateIn(std::string("allowed-") + release);

    EXPECT_TRUE(fate.arrives) << release;
    EXPECT_EQ(fate.where, "ls_out_apply_port_sec: 1, priority 0") << release;
  }
}

TEST(FateTest, ProgramThatIsOlderThanTheDatabaseIsRefused) {
  for (const char* release : {"25.03", "26.03"})
    EXPECT_THAT([&] { (void)FateIn(std::string("older-program-") + release); },
                ThrowsMessage<std::runtime_error>(HasSubstr("run one of the same version")));
}

TEST(FateTest, OutputToAnotherPortIsNoArrival) {
  EXPECT_FALSE(
      FateOf(std::string(kBegin) + "    /* output to \"port2-router\", type \"patch\" */\n",
             "port2")
          .arrives);
}

TEST(FateTest, OutputWithoutAStageIsAnError) {
  EXPECT_THAT([] { (void)FateOf("unknown port \"port1\"\n", "port2"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("unknown port")));
}

}  // namespace
}  // namespace kuryr::controller::ovn
