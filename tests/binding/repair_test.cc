// Somebody breaks the plug of a running pod, and Repair makes it as planned again.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "tests/binding/damage.h"
#include "tests/binding/differences.h"
#include "tests/binding/node_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ValuesIn;

class RepairTest : public NodeTest, public ::testing::WithParamInterface<PlugScenario> {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    pod_.emplace(MakePod(GetParam(), 1));
    peer_.emplace(MakePod(GetParam(), 2));
    Connect(*pod_);
    Connect(*peer_);
  }

  Differences Repair(const Pod& pod) { return binding_->Repair(RequestOf(pod)); }
  Differences Check(const Pod& pod) { return binding_->Check(RequestOf(pod)); }
  void Run(const Damage::Command& command) {
    if (command[0] == "ovs-vsctl") {
      ovs_->Vsctl({command.begin() + 1, command.end()});
    } else {
      RunOnHost(command);
    }
  }
  /// Changes when anything changes the configuration of Open vSwitch.
  std::string ConfigNumber() {
    return ovs_->Vsctl({"--no-wait", "get", "Open_vSwitch", ".", "next_cfg"});
  }
  /// Link, addresses and routes of the pod.
  static std::string InsideOf(const Pod& pod) {
    return RunIn(pod.netns, {"ip", "-o", "address", "show", "eth0", "scope", "global"}) +
           RunIn(pod.netns, {"ip", "-o", "link", "show", "eth0"}) +
           RunIn(pod.netns, {"ip", "route"}) + RunIn(pod.netns, {"ip", "-6", "route"});
  }
  std::string IdsOf(const std::string& port) {
    return ovs_->Vsctl({"--no-wait", "get", "Interface", port, "external_ids"});
  }

  std::optional<Pod> pod_;
  std::optional<Pod> peer_;

 private:
  static PlugRequest RequestOf(const Pod& pod) {
    return {pod.planned, pod.attachment, pod.netns, Soon()};
  }
};

TEST_P(RepairTest, EachDamageIsRepairedAndThePodsInsideStays) {
  const std::string inside = InsideOf(*pod_);
  for (const Damage& damage : DamagesOf(pod_->planned.plug)) {
    SCOPED_TRACE(damage.name);
    for (const Damage::Command& command : damage.commands) Run(command);

    const Differences found = Repair(*pod_);
    (void)Repair(*peer_);

    ASSERT_THAT(found, Not(IsEmpty()));
    EXPECT_EQ(found.front().kind, damage.kind) << found.front().text;
    EXPECT_THAT(found, Each(Field(&Difference::live_safe, true)));
    EXPECT_EQ(FirstOf(Check(*pod_)), std::nullopt);
    EXPECT_EQ(InsideOf(*pod_), inside);
    Ping(*pod_, GetParam().peer);
  }
  Disconnect(*pod_);
  Disconnect(*peer_);
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list", "QoS"}), "");
}

TEST_P(RepairTest, WithoutDamageNothingChanges) {
  for (const Damage& damage : DamagesOf(pod_->planned.plug)) {
    for (const Damage::Command& command : damage.commands) Run(command);
    (void)Repair(*pod_);
    const auto before = State({&pod_->netns});
    const std::string number = ConfigNumber();

    EXPECT_EQ(FirstOf(Repair(*pod_)), std::nullopt) << damage.name;

    EXPECT_EQ(ConfigNumber(), number) << damage.name;
    EXPECT_EQ(State({&pod_->netns}), before) << damage.name;
  }
}

TEST_P(RepairTest, AllDamagesAtOnceAreRepaired) {
  for (const Damage& damage : DamagesOf(pod_->planned.plug)) {
    // A thing that is deleted cannot be damaged otherwise.
    const bool is_last = damage.name == "patch" || damage.name == "port";
    if (damage.name == "hub down" || damage.name == "hub") continue;
    for (const Damage::Command& command : damage.commands) Run(command);
    if (is_last) break;
  }

  EXPECT_THAT(Repair(*pod_), Each(Field(&Difference::live_safe, true)));

  EXPECT_EQ(FirstOf(Check(*pod_)), std::nullopt);
}

TEST_P(RepairTest, APodWithoutItsLinkIsToldAndLeftAlone) {
  const std::string& tap = pod_->planned.plug.host_interface;
  RunOnHost({"ip", "link", "delete", tap});
  const auto before = State({&pod_->netns});

  const Differences found = Repair(*pod_);

  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_THAT(found, Each(Field(&Difference::live_safe, false)));
  EXPECT_THAT(found.back().text, ::testing::HasSubstr("eth0 is missing"));
  EXPECT_EQ(State({&pod_->netns}), before);
}

TEST_P(RepairTest, APodsOwnChangesAreToldAndLeftAlone) {
  RunIn(pod_->netns, {"ip", "address", "delete", "10.1.0.1/24", "dev", "eth0"});

  const Differences found = Repair(*pod_);

  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_EQ(found.front().kind, DifferenceKind::kAddress);
  EXPECT_THAT(found, Each(Field(&Difference::live_safe, false)));
  EXPECT_EQ(RunIn(pod_->netns, {"ip", "-4", "-o", "address", "show", "eth0"}), "");
}

class PortRepairTest : public RepairTest {};

TEST_P(PortRepairTest, APortThatAnotherHasNowIsLeftAlone) {
  const std::string& tap = pod_->planned.plug.host_interface;
  ovs_->Vsctl({"set", "Interface", tap, "external_ids:kuryr-container-id=other"});
  const std::string ids = IdsOf(tap);

  const Differences found = Repair(*pod_);

  EXPECT_THAT(found, ::testing::SizeIs(1));
  EXPECT_THAT(found, Each(Field(&Difference::live_safe, false)));
  EXPECT_EQ(IdsOf(tap), ids);
}

TEST_P(PortRepairTest, APortThatSomebodyPutElsewhereIsLeftAlone) {
  const std::string& tap = pod_->planned.plug.host_interface;
  ovs_->Vsctl({"add-br", "br-other", "--", "set", "Bridge", "br-other",
               "datapath_type=" + test::PrivateOvs::datapath_type(), "--", "del-port", tap, "--",
               "add-port", "br-other", tap});

  EXPECT_THAT(Repair(*pod_), Each(Field(&Difference::live_safe, false)));

  EXPECT_EQ(ovs_->Vsctl({"port-to-br", tap}), "br-other");
  EXPECT_EQ(IdsOf(tap), "{}");
}

TEST_P(PortRepairTest, ALinkThatTookTheNameAndItsPortAreLeftAlone) {
  const std::string& tap = pod_->planned.plug.host_interface;
  ovs_->Vsctl({"del-port", tap});
  RunOnHost({"ip", "link", "delete", tap});
  RunOnHost({"ip", "link", "add", tap, "up", "type", "veth", "peer", "name", "other"});
  ovs_->Vsctl({"add-port", "br-int", tap});
  const auto before = State();

  EXPECT_THAT(Repair(*pod_), Each(Field(&Difference::live_safe, false)));

  EXPECT_EQ(State(), before);
}

std::vector<PlugScenario> Named(const std::set<std::string>& names) {
  const std::vector<PlugScenario>& all = PlugScenarios();
  std::vector<PlugScenario> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const PlugScenario& scenario) { return names.contains(scenario.name); });
  return some;
}

std::string NameOf(const ::testing::TestParamInfo<PlugScenario>& scenario) {
  return scenario.param.name;
}

INSTANTIATE_TEST_SUITE_P(Drivers, RepairTest, ValuesIn(Named({"Ovs", "Hybrid", "Bridge"})), NameOf);
INSTANTIATE_TEST_SUITE_P(Drivers, PortRepairTest, ValuesIn(Named({"Ovs"})), NameOf);

}  // namespace
}  // namespace kuryr::binding
