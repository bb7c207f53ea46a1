#include <set>

#include "tests/controller/backends/neutron/vifs/nested_fixture.h"

// pod_vif_driver = nested-vlan.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NestedVlanTest : public NestedTest {
 protected:
  NestedVlanTest() : NestedTest(PodVifDriver::kNestedVlan) {}

  static uint16_t VlanOf(const vif::PodVif& vif) {
    return *std::get<vif::VifVlanNested>(vif.vif).vlan_id;
  }
  void TakeVlans(const std::vector<uint16_t>& vlans) {
    neutron_.ChangeNode(node_, [&](NodePort& node) {
      for (const uint16_t vlan : vlans) node.sub_ports.push_back({"other", vlan});
    });
  }
};

TEST_F(NestedVlanTest, PodGetsASubPortOfItsNodesTrunk) {
  const Vifs vifs = Reserve(Nested(Pod("a")));

  ASSERT_THAT(vifs, SizeIs(1));
  const Port port = neutron_.ports().at(0);
  EXPECT_THAT(Node().sub_ports, ElementsAre(SubPort{port.id, VlanOf(vifs[0])}));
  EXPECT_EQ(IdOf(vifs[0]), port.id);
  EXPECT_EQ(port.name, "team/a/eth0");
  EXPECT_EQ(port.description, "pod uid-a");
  EXPECT_EQ(port.device_id, "") << "Neutron takes no other one";
  EXPECT_EQ(port.host_id, "");
  EXPECT_THAT(port.tags, ElementsAre("cluster-a"));
  EXPECT_EQ(Reserve(Nested(Pod("a"))), vifs);
  EXPECT_EQ(neutron_.CountOf("AddSubPort"), 1U);
  EXPECT_TRUE(backend_->Owns(Pod("a"), vifs[0]));
}

TEST_F(NestedVlanTest, InterfacesOfOnePodHaveVlansOfTheirOwn) {
  TakeVlans({1, 2, 4});

  const Vifs vifs = Reserve(Nested(Pod("a"), {"net1"}));

  ASSERT_THAT(vifs, SizeIs(2));
  EXPECT_EQ(VlanOf(vifs[0]), 3);
  EXPECT_EQ(VlanOf(vifs[1]), 5);
}

TEST_F(NestedVlanTest, VlanThatSomebodyTakesMeanwhileIsLeftToHim) {
  neutron_.Hold("AddSubPort");
  EXPECT_FALSE(backend_->Reserve(Nested(Pod("a"))));
  ASSERT_TRUE(neutron_.WaitForHeld());
  TakeVlans({1, 2});
  neutron_.LetGo();

  const Vifs vifs = Reserve(Nested(Pod("a")));

  EXPECT_EQ(VlanOf(vifs.at(0)), 3);
  EXPECT_THAT(Node().sub_ports, SizeIs(3));
}

TEST_F(NestedVlanTest, ManyPodsAtOnceHaveVlansOfTheirOwn) {
  constexpr int kPods = 40;
  std::vector<Owner> owners;
  for (int i = 0; i < kPods; ++i) owners.push_back(Pod(std::to_string(i)));
  for (const Owner& owner : owners) EXPECT_FALSE(backend_->Reserve(Nested(owner)));

  std::set<uint16_t> vlans;
  for (const Owner& owner : owners) vlans.insert(VlanOf(ReserveAtLast(Nested(owner)).at(0)));

  EXPECT_THAT(vlans, SizeIs(kPods));
  for (const Owner& owner : owners) EXPECT_TRUE(Release(owner.id));
  EXPECT_THAT(Node().sub_ports, IsEmpty());
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NestedVlanTest, FullTrunkIsExhaustionAndLeavesNoPort) {
  std::vector<uint16_t> all;
  for (uint16_t vlan = 1; vlan <= 4094; ++vlan) all.push_back(vlan);
  TakeVlans(all);

  const Failure failure = Fail(Nested(Pod("a")));

  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(failure.text, HasSubstr("has no free VLAN"));
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NestedVlanTest, NodeWithoutATrunkIsSaid) {
  (void)neutron_.AddNode("192.0.2.11", "");
  PlanRequest request = Nested(Pod("a"));
  request.node_addresses = {Ip("192.0.2.11")};

  const Failure failure = Fail(request);

  EXPECT_EQ(failure.kind, Kind::kGone);
  EXPECT_THAT(failure.text, HasSubstr("of node n1 is no trunk's"));
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NestedVlanTest, NodeHasToBeInTheWorkersSubnets) {
  const auto refusal = [this](const char* pod, const char* address) {
    PlanRequest request = Nested(Pod(pod));
    request.node_addresses = {Ip(address)};
    const Failure failure = Fail(request);
    EXPECT_EQ(failure.kind, Kind::kGone);
    return failure.text;
  };
  EXPECT_THAT(refusal("a", "192.0.2.99"), HasSubstr("node n1 (192.0.2.99) has no port of Neutron"));

  neutron_.ChangeNode(node_, [](NodePort& node) { node.fixed_ips[0].subnet_id = "other"; });
  EXPECT_THAT(refusal("b", "192.0.2.10"), HasSubstr("[pod_vif_nested] worker_nodes_subnets"));
}

TEST_F(NestedVlanTest, ActiveIsWhatNeutronSays) {
  const Vifs vifs = Reserve(Nested(Pod("a")));
  EXPECT_FALSE(backend_->Await(Pod("a"), vifs));

  neutron_.SetAllActive();

  EXPECT_TRUE(WaitUntilActive(Pod("a"), vifs));
}

TEST_F(NestedVlanTest, PortInTheTrunkKeepsItsVlan) {
  TakeVlans({1, 2, 3});
  const Vifs before = Reserve(Nested(Pod("a")));
  Restart();

  EXPECT_EQ(Reserve(Nested(Pod("a"))), before);

  EXPECT_EQ(neutron_.CountOf("AddSubPort"), 1U);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
}

TEST_F(NestedVlanTest, WhatAnotherControllerWroteIsReleased) {
  const Vifs vifs = Written(Reserve(Nested(Pod("a"), {"net1"})), true);
  Restart();
  backend_->Adopt(Pod("a"), vifs);

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(Node().sub_ports, IsEmpty());
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NestedVlanTest, WhatAnotherControllerLeftIsReleasedByItsOwnerAlone) {
  (void)Reserve(Nested(Pod("a")));
  (void)Reserve(Nested(Pod("b")));
  Restart();

  EXPECT_FALSE(backend_->Release("uid-a"));
  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_THAT(Node().sub_ports, SizeIs(1));
}

TEST_F(NestedVlanTest, ForgedPlanCostsNobodyHisPort) {
  const Vifs vifs = Written(Reserve(Nested(Pod("victim"))), true);
  Restart();
  backend_->Adopt(Pod("forger"), vifs);

  EXPECT_EQ(Fail(Nested(Pod("forger"))).kind, Kind::kGone);
  EXPECT_TRUE(Release("uid-forger"));

  EXPECT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_THAT(Node().sub_ports, SizeIs(1));
}

TEST_F(NestedVlanTest, SubPortThatSomebodyRemovedIsDeletedAllTheSame) {
  (void)Reserve(Nested(Pod("a")));
  neutron_.ChangeNode(node_, [](NodePort& node) { node.sub_ports.clear(); });

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NestedVlanTest, InventoryIsOfThisClustersTags) {
  (void)Reserve(Nested(Pod("a"), {"net1"}));
  (void)neutron_.Add({.name = "team/x/eth0", .tags = {"cluster-a"}});

  Owner expected = Pod("a");
  expected.node = "";
  EXPECT_THAT(backend_->Inventory(), ElementsAre(expected));
}

class NestedVlanFaultTest : public NestedVlanTest, public ::testing::WithParamInterface<bool> {
 protected:
  /// Expects one port, in the trunk once, whether the request or its answer was lost.
  void ExpectOne(const Vifs& vifs, const char* call) {
    ASSERT_THAT(vifs, SizeIs(1)) << call;
    ASSERT_THAT(neutron_.ports(), SizeIs(1)) << call;
    EXPECT_THAT(Node().sub_ports, ElementsAre(SubPort{IdOf(vifs[0]), VlanOf(vifs[0])})) << call;
  }
  void ExpectNothing(const char* call) {
    EXPECT_THAT(neutron_.ports(), IsEmpty()) << call;
    EXPECT_THAT(Node().sub_ports, IsEmpty()) << call;
  }
};

INSTANTIATE_TEST_SUITE_P(Lost, NestedVlanFaultTest, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Answers" : "Requests"; });

TEST_P(NestedVlanFaultTest, RequestOfAPlanIsMadeAgain) {
  neutron_.SetTagsAtCreation(false);
  for (const char* call : {"CreatePort", "SetTags", "ListNodePorts", "AddSubPort"}) {
    const Owner owner = Pod(call);
    neutron_.Fail(call, {.done = GetParam()});

    ExpectOne(ReserveAtLast(Nested(owner)), call);

    EXPECT_TRUE(Release(owner.id)) << call;
    ExpectNothing(call);
  }
}

TEST_P(NestedVlanFaultTest, ControllerKilledWhileItPlansIsFollowedByAnother) {
  neutron_.SetTagsAtCreation(false);
  for (const char* call : {"CreatePort", "SetTags", "ListNodePorts", "AddSubPort"}) {
    const Owner owner = Pod(call);
    neutron_.Fail(call, {.done = GetParam()});
    EXPECT_FALSE(backend_->Reserve(Nested(owner))) << call;
    Restart();

    ExpectOne(ReserveAtLast(Nested(owner)), call);

    Restart();
    EXPECT_TRUE(Release(owner.id)) << call;
    ExpectNothing(call);
  }
}

TEST_P(NestedVlanFaultTest, ControllerKilledWhileItReleasesIsFollowedByAnother) {
  for (const char* call : {"ListPorts", "RemoveSubPort", "DeletePort", "ListNodePorts"}) {
    const Owner owner = Pod(call);
    (void)ReserveAtLast(Nested(owner));
    Restart();
    neutron_.Fail(call, {.done = GetParam()});
    EXPECT_FALSE(backend_->Release(owner.id)) << call;
    Restart();

    EXPECT_TRUE(Release(owner.id)) << call;

    ExpectNothing(call);
  }
}

}  // namespace
}  // namespace kuryr::controller::neutron
