#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/vifs/nested_fixture.h"

// pod_vif_driver = nested-macvlan.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NestedMacvlanTest : public NestedTest {
 protected:
  NestedMacvlanTest() : NestedTest(PodVifDriver::kNestedMacvlan) {
    neutron_.ChangeNode(node_, [&](NodePort& node) { node.address_pairs = {Others()}; });
  }

  /// An address pair of another program, which must stay.
  static AddressPair Others() { return {.network = IpNetwork::Parse("198.51.100.0/24").value()}; }
  static AddressPair PairOf(const Port& port, size_t index) {
    const IpAddress& address = port.fixed_ips.at(index).address;
    return {.network = IpNetwork::Parse(address.ToString()).value(), .mac = port.mac};
  }
  void ExpectNothing(const char* call) {
    EXPECT_THAT(neutron_.ports(), IsEmpty()) << call;
    EXPECT_THAT(Node().address_pairs, ElementsAre(Others())) << call;
  }
};

TEST_F(NestedMacvlanTest, NodesPortMaySendFromThePodsAddresses) {
  const Vifs vifs = Reserve(Nested(Pod("a")));

  ASSERT_THAT(vifs, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<vif::VifMacvlanNested>(vifs[0].vif));
  const Port port = neutron_.ports().at(0);
  EXPECT_THAT(Node().address_pairs, ElementsAre(Others(), PairOf(port, 0), PairOf(port, 1)));
  EXPECT_EQ(port.device_id, "uid-a");
  EXPECT_EQ(port.device_owner, kDeviceOwner);
  EXPECT_EQ(port.host_id, "") << "a port of its own is bound to nothing";
  EXPECT_TRUE(backend_->Owns(Pod("a"), vifs[0]));
  EXPECT_EQ(neutron_.CountOf("SetAddressPairs"), 1U);
}

TEST_F(NestedMacvlanTest, IsActiveAtOnce) {
  const Vifs vifs = Reserve(Nested(Pod("a")));

  EXPECT_TRUE(*vif::Common(vifs.at(0).vif).active);
  EXPECT_TRUE(backend_->Await(Pod("a"), vifs));
  EXPECT_EQ(neutron_.CountOf("ActivePorts"), 0U);
}

TEST_F(NestedMacvlanTest, WhatOthersChangeMeanwhileStays) {
  neutron_.Hold("SetAddressPairs");
  EXPECT_FALSE(backend_->Reserve(Nested(Pod("a"))));
  ASSERT_TRUE(neutron_.WaitForHeld());
  const AddressPair late{.network = IpNetwork::Parse("203.0.113.9/32").value()};
  neutron_.ChangeNode(node_, [&](NodePort& node) { node.address_pairs.push_back(late); });
  neutron_.LetGo();

  (void)Reserve(Nested(Pod("a")));

  const Port port = neutron_.ports().at(0);
  EXPECT_THAT(Node().address_pairs, ElementsAre(Others(), late, PairOf(port, 0), PairOf(port, 1)));
  EXPECT_EQ(neutron_.CountOf("SetAddressPairs"), 2U);
}

TEST_F(NestedMacvlanTest, ChangedAgainAndAgainIsTriedLater) {
  // Each attempt makes three calls; a failure that no request fetches in time leads to another
  // attempt.
  for (int i = 0; i < 30; ++i)
    neutron_.Fail("SetAddressPairs", {.kind = NeutronError::Kind::kPrecondition});

  const Failure failure = Fail(Nested(Pod("a")));

  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_THAT(failure.text, HasSubstr("changed by others again and again"));
  EXPECT_THAT(ReserveAtLast(Nested(Pod("a"))), SizeIs(1));
  EXPECT_THAT(Node().address_pairs, SizeIs(3));
}

TEST_F(NestedMacvlanTest, ManyPodsAtOnceHaveAllTheirPairs) {
  constexpr int kPods = 30;
  std::vector<Owner> owners;
  for (int i = 0; i < kPods; ++i) owners.push_back(Pod(std::to_string(i)));
  for (const Owner& owner : owners) EXPECT_FALSE(backend_->Reserve(Nested(owner)));

  for (const Owner& owner : owners) EXPECT_THAT(ReserveAtLast(Nested(owner)), SizeIs(1));

  EXPECT_THAT(Node().address_pairs, SizeIs(1 + 2 * kPods));
  for (const Owner& owner : owners) (void)backend_->Release(owner.id);
  for (const Owner& owner : owners) EXPECT_TRUE(Release(owner.id));
  ExpectNothing("all");
}

TEST_F(NestedMacvlanTest, ReleaseTakesThePairsOfThisPodAlone) {
  (void)Reserve(Nested(Pod("a")));
  (void)Reserve(Nested(Pod("b")));

  EXPECT_TRUE(Release("uid-a"));

  ASSERT_THAT(neutron_.ports(), SizeIs(1));
  const Port port = neutron_.ports()[0];
  EXPECT_EQ(port.device_id, "uid-b");
  EXPECT_THAT(Node().address_pairs, ElementsAre(Others(), PairOf(port, 0), PairOf(port, 1)));
}

TEST_F(NestedMacvlanTest, ForgedPlanCostsNobodyHisPairs) {
  const Vifs vifs = Written(Reserve(Nested(Pod("victim"))), true);
  Restart();
  backend_->Adopt(Pod("forger"), vifs);

  EXPECT_TRUE(Release("uid-forger"));

  EXPECT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_THAT(Node().address_pairs, SizeIs(3));
}

TEST_F(NestedMacvlanTest, NodeThatIsGoneKeepsNoPort) {
  (void)Reserve(Nested(Pod("a")));
  neutron_.ChangeNode(node_, [](NodePort& node) { node.id = "another machine's"; });

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

class NestedMacvlanFaultTest : public NestedMacvlanTest,
                               public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Lost, NestedMacvlanFaultTest, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Answers" : "Requests"; });

TEST_P(NestedMacvlanFaultTest, ControllerKilledWhileItPlansIsFollowedByAnother) {
  neutron_.SetTagsAtCreation(false);
  for (const char* call : {"CreatePort", "SetTags", "ListNodePorts", "SetAddressPairs"}) {
    const Owner owner = Pod(call);
    neutron_.Fail(call, {.done = GetParam()});
    EXPECT_FALSE(backend_->Reserve(Nested(owner))) << call;
    Restart();

    EXPECT_THAT(ReserveAtLast(Nested(owner)), SizeIs(1)) << call;

    EXPECT_THAT(neutron_.ports(), SizeIs(1)) << call;
    EXPECT_THAT(Node().address_pairs, SizeIs(3)) << call;
    Restart();
    EXPECT_TRUE(Release(owner.id)) << call;
    ExpectNothing(call);
  }
}

TEST_P(NestedMacvlanFaultTest, ControllerKilledWhileItReleasesIsFollowedByAnother) {
  for (const char* call :
       {"ListPorts", "GetPort", "ListNodePorts", "SetAddressPairs", "DeletePort"}) {
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
