#include <gmock/gmock.h>

#include "tests/binding/plan/l3_fixture.h"

// Addresses and routes of an interface that is in use change.

namespace kuryr::binding {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class L3ChangeTest : public L3Test {
 protected:
  void Change(const vif::VifBase& before, const vif::VifBase& after, bool is_default = true) {
    ConfigureL3(*pod_, "eth0", PlanL3(before, is_default), L3Scope::kPod);
    ChangeL3(*pod_, "eth0", PlanL3(before, is_default), PlanL3(after, is_default));
  }
};

TEST_F(L3ChangeTest, AnAddressIsReplacedByAnotherOfItsSubnet) {
  Change(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1"),
                  SubnetOf("fd00::/64", {"fd00::5"}, "fd00::1")}),
         VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.6", "10.0.0.7"}, "10.0.0.1"),
                  SubnetOf("fd00::/64", {"fd00::6"}, "fd00::1")}));

  EXPECT_THAT(Addresses(), UnorderedElementsAre("10.0.0.6/24", "10.0.0.7/24", "fd00::6/64"));
  EXPECT_THAT(Routes("-4"), ElementsAre("default via 10.0.0.1"));
  EXPECT_THAT(Routes("-6"), ElementsAre("default via fd00::1"));
}

TEST_F(L3ChangeTest, AnotherSubnetTakesTheDefaultRoute) {
  Change(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1")}),
         VifWith({SubnetOf("10.3.0.0/24", {"10.3.0.5"}, "10.3.0.1")}));

  EXPECT_THAT(Addresses(), ElementsAre("10.3.0.5/24"));
  EXPECT_THAT(Routes("-4"), ElementsAre("default via 10.3.0.1"));
}

TEST_F(L3ChangeTest, RoutesComeGoAndGetOtherGateways) {
  Change(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, nullptr,
                           {{"10.8.0.0/16", "10.0.0.2"}, {"10.9.0.0/16", "10.0.0.2"}})}),
         VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, nullptr,
                           {{"10.9.0.0/16", "10.0.0.3"}, {"10.10.0.0/16", "10.0.0.2"}})}),
         false);

  EXPECT_THAT(Routes("-4"),
              UnorderedElementsAre("10.9.0.0/16 via 10.0.0.3", "10.10.0.0/16 via 10.0.0.2"));
}

TEST_F(L3ChangeTest, AllMayGo) {
  Change(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1")}), VifWith({}));

  EXPECT_THAT(Addresses(), IsEmpty());
  EXPECT_THAT(Routes("-4"), IsEmpty());
}

TEST_F(L3ChangeTest, WhatOthersAddedStays) {
  RunIn(*pod_, {"ip", "address", "add", "192.0.2.9/32", "dev", "eth0"});

  Change(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"})}),
         VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.6"})}));

  EXPECT_THAT(Addresses(), UnorderedElementsAre("192.0.2.9/32", "10.0.0.6/24"));
}

TEST_F(L3ChangeTest, MayBeRepeated) {
  const auto before = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1")});
  const auto after = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.6"}, "10.0.0.2")});
  Change(before, after);

  ChangeL3(*pod_, "eth0", PlanL3(before, true), PlanL3(after, true));

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.6/24"));
  EXPECT_THAT(Routes("-4"), ElementsAre("default via 10.0.0.2"));
}

}  // namespace
}  // namespace kuryr::binding
