#include "binding/plan/planned.h"

#include <gmock/gmock.h>

#include <string>

#include "base/error.h"
#include "binding/drivers/binding.h"
#include "binding/ovs/qos_rows.h"
#include "binding/plan/neutron_port.h"
#include "tests/binding/everything.h"
#include "tests/binding/vifs.h"

namespace kuryr::binding {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::Property;
using ::testing::Throws;

Planned PlanOf(const vif::Vif& vif) {
  return Binding(test::WithEverything({})).Plan({"eth0", true, vif});
}

/// Check looks for what was made, whatever the annotation calls it by now.
TEST(PlannedTest, APlugOfARecordKeepsItsNames) {
  const Plug plug = {
      .driver = "ovs", .ifname = "net1", .host_interface = "tap-of-then", .bridge = "br-of-then"};

  const Planned planned =
      Binding(test::WithEverything({})).PlanWith({"eth0", true, test::OvsVif(1)}, plug);

  EXPECT_EQ(planned.plug, plug);
  EXPECT_EQ(planned.port->name, "tap-of-then");
  EXPECT_EQ(planned.port->bridge, "br-of-then");
  EXPECT_THAT(planned.port->external_ids, Contains(Pair("kuryr-pod-ifname", "net1")));
}

Planned PlanOf(const vif::Vif& vif, const RateLimits& limits) {
  return Binding(test::WithEverything({})).Plan({"eth0", true, vif}, limits);
}

TEST(PlannedTest, LimitsArePlannedInTheWordsOfThePort) {
  const OvsPort port =
      *PlanOf(test::OvsVif(1), {.received = {.rate = 20'000'000, .burst = 4'000'000},
                                .sent = {.rate = 10'000'001, .burst = 2'000'000}})
           .port;

  EXPECT_EQ(port.qos_type, "linux-htb");
  EXPECT_EQ(port.limits, (PortLimits{.policing_rate = 10'001,
                                     .policing_burst = 2'000,
                                     .max_rate = 20'000'000,
                                     .max_burst = 4'000'000}));
  EXPECT_EQ(PlanOf(test::HybridVif(1), {.sent = {.rate = 1000}}).port->qos_type, "linux-noop");
}

TEST(PlannedTest, ABurstIsWhatAPolicerAndTheKernelCanCount) {
  const auto burst = [](uint64_t rate, uint64_t wanted) {
    return PortLimitsOf({.sent = {.rate = rate, .burst = wanted}}).policing_burst;
  };
  EXPECT_EQ(burst(10'000'000, 0), 8'000U) << "Open vSwitch's own";
  EXPECT_EQ(burst(10'000'000'000, 0), 100'000U) << "10 ms";
  EXPECT_EQ(burst(10'000'000, 1), 1'049U) << "two merged packets";
  EXPECT_EQ(burst(1'000, 0), 100U) << "100 s";
  EXPECT_EQ(burst(1'000'000, UINT32_MAX - 1), 100'000U) << "100 s";
  EXPECT_EQ(PortLimitsOf({.received = {.rate = 1'000, .burst = 8'000'000}}).max_burst, 100'000U);
}

TEST(PlannedTest, ARateThatVswitchdCannotCountIsTheHighestThatItCan) {
  const PortLimits limits =
      PortLimitsOf({.received = {.rate = uint64_t{1} << 53}, .sent = {.rate = uint64_t{1} << 35}});

  EXPECT_EQ(limits.max_rate, 34'000'000'000U);
  EXPECT_EQ(limits.policing_rate, 34'000'000U);
}

TEST(PlannedTest, DpdksPolicerCountsInBytes) {
  const OvsPort port =
      *PlanOf(test::VhostUserVif(1, vif::VHostUserMode::kServer), {.received = {.rate = 8'000'000}})
           .port;

  EXPECT_EQ(ShapingOf(port), "egress-policer cbs=1000000 cir=1000000");
}

TEST(PlannedTest, ALimitIsRefusedWhereNoPortCouldHoldIt) {
  const RateLimits limits = {.received = {.rate = 1'000'000}};
  for (const vif::Vif& vif : {vif::Vif(test::BridgeVif(1)), vif::Vif(test::MacvlanVif(1))}) {
    EXPECT_THAT(
        [&] { (void)PlanOf(vif, limits); },
        Throws<UnsupportedLimit>(Property(&UnsupportedLimit::what, HasSubstr("sets no limits"))));
    EXPECT_NO_THROW((void)PlanOf(vif, {.received = {.burst = 8}}));
  }
}

/// The device of a DPDK pod has no MAC any more, and a VF in a pod is not on the host.
TEST(PlannedTest, APlugOfARecordIsPlannedWithoutTheNodesDevices) {
  const Plug plug = {.driver = "dpdk", .ifname = "eth0", .device = "0000:00:05.0"};

  const Planned planned = Binding(test::WithEverything({.sysfs = "/nonexistent"}))
                              .PlanWith({"eth0", true, test::DpdkVif(1)}, plug);

  EXPECT_EQ(planned.plug, plug);
  EXPECT_EQ(planned.mac, *test::DpdkVif(1).address);
}

TEST(PlannedTest, PortIsNobodysBeforeItIsOwned) {
  const Planned planned = PlanOf(test::OvsVif(1));

  const OvsPort owned = OwnedPort(
      planned,
      {.network = "kuryr", .container_id = "c1", .ifname = "eth0", .pod = "", .pod_uid = "uid"});

  EXPECT_THAT(planned.port->external_ids, Not(Contains(Key(OpenVSwitch::kContainerId))));
  EXPECT_THAT(owned.external_ids, Contains(Pair(OpenVSwitch::kContainerId, "c1")));
  EXPECT_THAT(owned.external_ids, Contains(Pair(OpenVSwitch::kPodUid, "uid")));
  EXPECT_THAT(owned.external_ids, Contains(Pair("kuryr-pod-ifname", "eth0")));
  EXPECT_TRUE(Includes(owned.external_ids, planned.port->external_ids));
}

TEST(PlannedTest, MtuIsTheNetworksOrThatOfTheLinkBelowAndNeverAboveTheLimit) {
  EXPECT_EQ(PlannedMtu(1400, 0).On(9000), 1400U);
  EXPECT_EQ(PlannedMtu(9000, 1450).On(1500), 1450U);
  EXPECT_EQ(PlannedMtu({}, 0).On(1300), 1300U);
  EXPECT_EQ(PlannedMtu({}, 1200).On(1300), 1200U);
}

TEST(PlannedTest, MtuIsCheckedWhereTheNetworkNamesIt) {
  EXPECT_EQ(PlannedMtu(9000, 1450).Checked(), 1450U);
  EXPECT_EQ(PlannedMtu({}, 1450).Checked(), 0U) << "the link below may have another one by now";
  EXPECT_EQ(PlannedMtu().Checked(), 0U);
}

TEST(PlannedTest, AVifWithoutMacOrNetworkIsRefusedByItsField) {
  const auto path_of = [](const vif::Vif& vif) -> std::string {
    try {
      (void)PlanOf(vif);
    } catch (const ParseError& e) {
      return e.path();
    }
    return "";
  };
  vif::VifMacvlanNested no_mac = test::MacvlanVif(1);
  no_mac.address.reset();
  vif::VifMacvlanNested no_network = test::MacvlanVif(1);
  no_network.network.reset();

  EXPECT_EQ(path_of(no_mac), "$.address");
  EXPECT_EQ(path_of(no_network), "$.network");
}

TEST(PlannedTest, AMacThatNoInterfaceCanHaveIsRefusedByItsField) {
  for (const char* mac : {"00:00:00:00:00:00", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff"}) {
    vif::VifMacvlanNested vif = test::MacvlanVif(1);
    vif.address = MacAddress::Parse(mac).value();
    EXPECT_THAT([&] { (void)PlanOf(vif); },
                Throws<ParseError>(AllOf(Property(&ParseError::path, "$.address"),
                                         Property(&ParseError::reason, HasSubstr(mac)))));
  }
}

TEST(PlannedTest, AnMtuTooSmallForIpv6IsRefusedWithTheAddress) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.network->mtu = 1279;

  EXPECT_THAT(
      [&] { (void)PlanOf(vif); },
      Throws<ParseError>(
          AllOf(Property(&ParseError::path, "$.network.mtu"),
                Property(&ParseError::reason, AllOf(HasSubstr("1279"), HasSubstr("fd00::1/64"))))));
  vif.network->subnets->objects->pop_back();
  EXPECT_NO_THROW((void)PlanOf(vif)) << "IPv4 alone";
  vif.network = test::OvsVif(1).network;
  vif.network->mtu = 1280;
  EXPECT_NO_THROW((void)PlanOf(vif));
}

}  // namespace
}  // namespace kuryr::binding
