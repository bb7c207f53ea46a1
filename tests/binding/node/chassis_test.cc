#include "binding/node/chassis.h"

#include <gmock/gmock.h>

#include "tests/binding/node/node_part_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a chassis has beside what ovn-controller needs.
const std::string kOthers =
    "ovn-cms-options=kuryr-cluster=kuryr,kuryr-node=node1+ ovn-match-northd-version=true+ "
    "ovn-ofctrl-wait-before-clear=5000+ ";

class ChassisTest : public NodePartTest {
 protected:
  /// "KEY=VALUE " of each, with a + where it is ours.
  std::string ChassisSettings() {
    std::string text;
    for (const ChassisSetting& setting : FindChassis(*context_, Soon()))
      text += setting.key + "=" + setting.value + (setting.is_ours ? "+ " : " ");
    return text;
  }
};

TEST_F(ChassisTest, NodeBecomesAChassis) {
  BeAChassis();
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  EXPECT_EQ(ChassisSettings(),
            "ovn-remote=tcp:192.0.2.9:6642+ ovn-encap-type=geneve+ ovn-encap-ip=192.0.2.1+ "
            "ovn-bridge=br-int+ hostname=node1+ system-id=node1+ " +
                kOthers);
}

TEST_F(ChassisTest, WhatSomebodySetOfAChassisStays) {
  BeAChassis();
  for (const char* set : {"system-id=0af1", "ovn-remote=ssl:mine", "other=1"})
    ovs_->Vsctl({"set", "Open_vSwitch", ".", std::string("external_ids:") + set});
  const std::string before = ovs_->Vsctl({"get", "Open_vSwitch", ".", "external_ids"});
  Make();

  EXPECT_EQ(ChassisSettings(),
            "ovn-remote=ssl:mine ovn-encap-type=geneve+ ovn-encap-ip=192.0.2.1+ "
            "ovn-bridge=br-int+ hostname=node1+ system-id=0af1 " +
                kOthers);
  EXPECT_TRUE(RemoveNodeParts(*context_, Soon()));
  EXPECT_EQ(ovs_->Vsctl({"get", "Open_vSwitch", ".", "external_ids"}), before);
}

TEST_F(ChassisTest, ChassisFollowsThePlanUntilSomebodyChangesIt) {
  BeAChassis();
  Make();
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:ovn-encap-type=vxlan"});
  ovs_->Vsctl({"remove", "Open_vSwitch", ".", "external_ids", "ovn-bridge"});
  plan_.addresses = {Ip("192.0.2.7")};
  Make();

  EXPECT_EQ(ChassisSettings(),
            "ovn-remote=tcp:192.0.2.9:6642+ ovn-encap-type=vxlan ovn-encap-ip=192.0.2.7+ "
            "ovn-bridge=br-int+ hostname=node1+ system-id=node1+ " +
                kOthers);
  plan_.chassis.is_managed = false;
  Make();
  EXPECT_EQ(ChassisSettings(), "ovn-encap-type=vxlan ");
}

TEST_F(ChassisTest, MarkNamesTheMachine) {
  BeAChassis();
  plan_.machine = "6ad1";
  Make();

  EXPECT_THAT(
      ChassisSettings(),
      HasSubstr("ovn-cms-options=kuryr-cluster=kuryr,kuryr-node=node1,kuryr-machine=6ad1+"));
}

TEST_F(ChassisTest, VersionsMayDifferWhereSomebodySaysSo) {
  BeAChassis();
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:ovn-match-northd-version=false"});
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  EXPECT_THAT(ChassisSettings(), HasSubstr("ovn-match-northd-version=false "));
}

/// As Open vSwitch's own service does at its start.
TEST_F(ChassisTest, RecordedHostnameWithADomainBecomesTheNodes) {
  BeAChassis();
  for (const char* set : {"system-id=0af1", "hostname=node1.example.net"})
    ovs_->Vsctl({"set", "Open_vSwitch", ".", std::string("external_ids:") + set});
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  EXPECT_THAT(ChassisSettings(), HasSubstr("hostname=node1+ system-id=0af1 "));
  EXPECT_TRUE(RemoveNodeParts(*context_, Soon()));
  EXPECT_EQ(ChassisSettings(), "system-id=0af1 ");
}

TEST_F(ChassisTest, ChassisThatOvnTakesForAnotherNodeIsTold) {
  BeAChassis();
  for (const char* set : {"system-id=0af1", "hostname=other"})
    ovs_->Vsctl({"set", "Open_vSwitch", ".", std::string("external_ids:") + set});
  Make();

  EXPECT_THAT(Differ(), ::testing::ElementsAre(HasSubstr("hostname of Open vSwitch is other")));
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:system-id=node1"});
  EXPECT_THAT(Differ(), IsEmpty());
}

}  // namespace
}  // namespace kuryr::binding
