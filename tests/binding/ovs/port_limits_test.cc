// Limits of a port in Open vSwitch's database. What the kernel makes of them is tests/runtimes'
// part.
#include "binding/ovs/port_limits.h"

#include <gmock/gmock.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/port_events.h"
#include "binding/ovs/qos_rows.h"
#include "tests/binding/pod_attachment.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

const OvsPort kPort = {
    .name = "tap0",
    .bridge = "br-int",
    .external_ids = {{"kuryr-container-id", "c0ffee"}, {"kuryr-network", "kuryr"}},
    .datapath_type = test::PrivateOvs::datapath_type(),
    .qos_type = OpenVSwitch::kKernelQos};

class PortLimitsTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    switch_.emplace(ovs_->remote());
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  std::optional<test::PrivateOvs> ovs_;
  std::optional<OpenVSwitch> switch_;
};

TEST_F(PortLimitsTest, QosThatAnotherPortHasTakenIsLeftToIt) {
  OvsPort port = kPort;
  port.qos_type = "linux-noop";
  (void)switch_->AddPort(port, Soon());
  const std::string row = ovs_->Vsctl({"--no-wait", "get", "Port", "tap0", "qos"});
  ovs_->Vsctl({"--no-wait", "set", "Port", "br-int", "qos=" + row});

  EXPECT_TRUE(switch_->DeletePort("tap0", port.external_ids, Soon()));

  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "get", "Port", "br-int", "qos"}), row);
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "get", "QoS", row, "external_ids"}), "{}");
  (void)switch_->AddPort(port, Soon());
  EXPECT_TRUE(switch_->DeletePort("tap0", port.external_ids, Soon()));
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "--columns=_uuid", "--bare", "list", "QoS"}), row);
}

TEST_F(PortLimitsTest, LimitsAreAddedChangedAndDeletedWithThePort) {
  OvsPort limited = kPort;
  limited.limits = {.policing_rate = 10'000,
                    .policing_burst = 8'000,
                    .max_rate = 20'000'000,
                    .max_burst = 4'000'000};
  const std::string others = ovs_->Vsctl({"--no-wait", "create", "QoS", "type=linux-hfsc"});
  (void)switch_->AddPort(limited, Soon());
  const auto policing = [&] {
    return ovs_->Vsctl({"--no-wait", "get", "Interface", "tap0", "ingress_policing_rate",
                        "ingress_policing_burst"});
  };
  EXPECT_EQ(policing(), "10000\n8000");
  EXPECT_EQ(switch_->FindShaping("tap0", Soon()), ShapingOf(limited));
  EXPECT_EQ(ShapingOf(limited),
            "linux-htb max-rate=20000000, queue 0: burst=4000000 max-rate=20000000 "
            "min-rate=20000000");

  const std::vector<std::vector<std::string>> damages = {
      {"set", "QoS", "{qos}", "other_config:max-rate=1"},
      {"set", "QoS", "{qos}", "type=linux-noop"},
      {"clear", "QoS", "{qos}", "queues"},
      {"set", "Queue", "{queue}", "other_config:burst=1"},
      {"clear", "Port", "tap0", "qos"},
      {"set", "Port", "tap0", "qos=" + others}};
  for (std::vector<std::string> damage : damages) {
    SCOPED_TRACE(testing::PrintToString(damage));
    const std::string qos = ovs_->Vsctl({"--no-wait", "get", "Port", "tap0", "qos"});
    if (damage[2] == "{qos}") damage[2] = qos;
    if (damage[2] == "{queue}")
      damage[2] = ovs_->Vsctl({"--no-wait", "get", "QoS", qos, "queues:0"});
    damage.insert(damage.begin(), "--no-wait");
    ovs_->Vsctl(damage);
    PortState there = switch_->FindPortState("tap0", Soon()).value();
    there.shaping = switch_->FindShaping("tap0", Soon());
    EXPECT_NE(there.shaping, ShapingOf(limited));

    (void)switch_->UpdatePort(limited, there, false, Soon());

    EXPECT_EQ(switch_->FindShaping("tap0", Soon()), ShapingOf(limited));
  }
  ovs_->Vsctl({"--no-wait", "set", "Interface", "tap0", "ingress_policing_rate=0"});
  PortState there = switch_->FindPortState("tap0", Soon()).value();
  there.shaping = ShapingOf(limited);
  (void)switch_->UpdatePort(limited, there, false, Soon());
  EXPECT_EQ(policing(), "10000\n8000");

  EXPECT_TRUE(switch_->DeletePort("tap0", limited.external_ids, Soon()));
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "--bare", "--columns=_uuid", "list", "QoS"}), others);
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list", "Queue"}), "");
}

TEST_F(PortLimitsTest, APortsEventsTellOfItsLimits) {
  OvsPort limited = kPort;
  limited.limits = {.max_rate = 20'000'000, .max_burst = 4'000'000};
  (void)switch_->AddPort(limited, Soon());
  ovs_->Vsctl({"--no-wait", "create", "QoS", "type=linux-hfsc"});
  const std::string qos = ovs_->Vsctl({"--no-wait", "get", "Port", "tap0", "qos"});
  const std::string queue = ovs_->Vsctl({"--no-wait", "get", "QoS", qos, "queues:0"});
  switch_->WaitUntilApplied(Soon());
  PortEvents events(ovs_->remote());
  EXPECT_EQ(events.Next(Soon()), std::nullopt);

  for (const std::vector<std::string>& change : std::vector<std::vector<std::string>>{
           {"set", "QoS", qos, "other_config:max-rate=1"},
           {"set", "Queue", queue, "other_config:burst=1"},
           {"clear", "QoS", qos, "external_ids"},
           {"set", "Interface", "tap0", "ingress_policing_burst=7"}}) {
    std::vector<std::string> arguments = {"--no-wait"};
    arguments.insert(arguments.end(), change.begin(), change.end());
    ovs_->Vsctl(arguments);
    EXPECT_EQ(events.Next(Soon()), std::set<std::string>{"tap0"}) << change[1];
  }
}

TEST_F(PortLimitsTest, PortEventsTellThatAConfigurationIsApplied) {
  PortEvents events(ovs_->remote());
  EXPECT_EQ(events.Next(Soon()), std::nullopt);

  EXPECT_TRUE(switch_->IsServed(Soon()));

  EXPECT_EQ(events.Next(Soon()), std::set<std::string>{PortEvents::kApplied});
}

}  // namespace
}  // namespace kuryr::binding
