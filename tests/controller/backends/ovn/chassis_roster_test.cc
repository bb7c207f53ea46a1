#include "controller/backends/ovn/southbound/chassis_roster.h"

#include <gmock/gmock.h>

namespace kuryr::controller::ovn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ChassisRosterTest : public ::testing::Test {
 protected:
  void SetNode(const std::string& name, const std::string& machine, const std::string& address) {
    roster_.SetNode(
        {.name = name, .machine = machine, .addresses = {IpAddress::Parse(address).value()}});
  }
  /// With an encap at the address; `options` as ovn-cms-options.
  void SetChassis(const std::string& name, const std::string& hostname, const std::string& address,
                  const std::string& options = "") {
    OvsdbRow chassis;
    chassis.values = {{"name", name}, {"hostname", hostname}};
    if (!options.empty()) chassis.maps = {{"other_config", {{"ovn-cms-options", options}}}};
    roster_.OnRow("Chassis", "uuid of " + name, &chassis);
    OvsdbRow encap;
    encap.values = {{"chassis_name", name}, {"ip", address}};
    roster_.OnRow("Encap", "encap of " + name, &encap);
  }
  [[nodiscard]] std::vector<std::string> Stale() const {
    std::vector<std::string> names;
    for (const auto& chassis : roster_.Assess().stale) names.push_back(chassis.name);
    return names;
  }
  [[nodiscard]] std::string Problem(const std::string& node) const {
    const auto problems = roster_.Assess().problems;
    const auto found = problems.find(node);
    return found == problems.end() ? "" : found->second;
  }

  ChassisRoster roster_{"kuryr"};
};

TEST_F(ChassisRosterTest, ChassisOfItsNodeIsFine) {
  SetNode("n1", "m1", "192.0.2.1");
  SetNode("n2", "", "192.0.2.2");
  SetChassis("0af1", "n1", "192.0.2.1", "kuryr-cluster=kuryr,kuryr-node=n1,kuryr-machine=m1");
  SetChassis("n2", "elsewhere", "192.0.2.2", "kuryr-cluster=kuryr,kuryr-node=n2,kuryr-machine=m2");

  EXPECT_THAT(Stale(), IsEmpty());
  EXPECT_THAT(roster_.Assess().problems, IsEmpty());
}

TEST_F(ChassisRosterTest, ChassisOfAnEarlierMachineOrOfANodeThatIsGoneIsStale) {
  SetNode("n1", "m2", "192.0.2.1");
  SetChassis("0af1", "n1", "192.0.2.1", "kuryr-cluster=kuryr,kuryr-node=n1,kuryr-machine=m1");
  SetChassis("0af2", "n2", "192.0.2.2", "enable-chassis-as-gw,kuryr-cluster=kuryr,kuryr-node=n2");

  EXPECT_THAT(Stale(), ElementsAre("0af1", "0af2"));
  EXPECT_THAT(Problem("n1"), HasSubstr("chassis \"0af1\" of OVN is of the node's earlier machine"));
}

TEST_F(ChassisRosterTest, ChassisOfOthersAreNeverStale) {
  SetChassis("1", "n1", "192.0.2.1");
  SetChassis("2", "n2", "192.0.2.2", "enable-chassis-as-gw");
  SetChassis("3", "n3", "192.0.2.3", "kuryr-cluster=other,kuryr-node=n3,kuryr-machine=m3");
  SetChassis("4", "n4", "192.0.2.4", "kuryr-cluster=kuryr,kuryr-node=");

  EXPECT_THAT(Stale(), IsEmpty());
}

TEST_F(ChassisRosterTest, WhoHasTheAddressOfANodeIsNamed) {
  SetNode("n1", "m1", "192.0.2.1");
  EXPECT_EQ(Problem("n1"), "");
  SetChassis("0af1", "former", "192.0.2.1");

  EXPECT_THAT(Problem("n1"), HasSubstr("Chassis \"0af1\" with hostname \"former\" has the node's "
                                       "address"));
  EXPECT_THAT(Problem("n1"), HasSubstr("ovn-sbctl chassis-del 0af1"));
}

TEST_F(ChassisRosterTest, HostnameWithADomainIsNamed) {
  SetNode("n1", "m1", "192.0.2.1");
  SetChassis("0af1", "n1.example.net", "198.51.100.7");

  EXPECT_THAT(Problem("n1"), HasSubstr("external_ids:hostname of its Open vSwitch"));
}

TEST_F(ChassisRosterTest, TwoChassisOfOneNameAreNamed) {
  SetNode("n1", "m1", "192.0.2.1");
  SetChassis("0af1", "n1", "192.0.2.1");
  SetChassis("0af2", "n1", "192.0.2.9");

  EXPECT_THAT(Problem("n1"), HasSubstr("chassis \"0af1\" and \"0af2\" of OVN all have"));
  roster_.OnRow("Chassis", "uuid of 0af2", nullptr);
  EXPECT_EQ(Problem("n1"), "");
  roster_.RemoveNode("n1");
  EXPECT_THAT(roster_.Assess().problems, IsEmpty());
}

}  // namespace
}  // namespace kuryr::controller::ovn
