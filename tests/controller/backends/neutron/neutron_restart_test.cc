#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/neutron_fixture.h"

// A controller starts again, or takes over, and finds ports.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NeutronRestartTest : public NeutronBackendTest {
 protected:
  NeutronRestartTest() { Start(); }

  PortRequest PortFor(const Owner& owner, const std::string& ifname = "eth0") const {
    return {.name = PortNameOf(owner, ifname),
            .network_id = FakeNeutron::kNetwork,
            .fixed_ips = {{FakeNeutron::kSubnet4, std::nullopt}},
            .device_id = owner.id,
            .device_owner = kDeviceOwner,
            .host_id = owner.node};
  }
};

TEST_F(NeutronRestartTest, WrittenPlanStaysAsItIs) {
  const Vifs vifs = Written(Reserve(Pod("a")));
  Start();

  backend_->Adopt(Pod("a"), vifs);

  EXPECT_EQ(Reserve(Pod("a")), vifs);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  neutron_.SetAllActive();
  EXPECT_TRUE(WaitUntilActive(Pod("a"), vifs));
}

TEST_F(NeutronRestartTest, PlanStaysWhereNeutronGivesThePortOneAddressMore) {
  defaults_.subnets = {FakeNeutron::kSubnet4};
  Start();
  const Vifs vifs = Written(Reserve(Pod("a")));
  neutron_.SetSlaac();
  Start();

  backend_->Adopt(Pod("a"), vifs);

  EXPECT_EQ(Reserve(Pod("a")), vifs);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
}

TEST_F(NeutronRestartTest, PortMadeAndNotWrittenIsFound) {
  const Vifs before = Reserve(RequestOf(Pod("a"), {"net1"}));
  Start();

  EXPECT_EQ(Reserve(RequestOf(Pod("a"), {"net1"})), before);

  EXPECT_THAT(neutron_.ports(), SizeIs(2));
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 1U);
}

TEST_F(NeutronRestartTest, LatePortOfAFormerControllerGoes) {
  const Vifs vifs = Written(Reserve(Pod("a")));
  (void)neutron_.Add(PortFor(Pod("a")));  // it has no tags yet
  neutron_.Hold("ListPorts");
  times_.search = std::chrono::milliseconds(1);
  Start();
  backend_->Adopt(Pod("a"), vifs);
  EXPECT_TRUE(neutron_.WaitForHeld());
  neutron_.LetGo();

  EXPECT_TRUE(neutron_.WaitUntil(
      [&](const auto& ports) { return ports.size() == 1 && ports[0].id == IdOf(vifs[0]); }));
}

TEST_F(NeutronRestartTest, OneOfTwoPortsIsFoundAndTheOtherMade) {
  const std::string id = neutron_.Add(PortFor(Pod("a"), "net1")).id;

  const Vifs vifs = Reserve(RequestOf(Pod("a"), {"net1"}));

  ASSERT_THAT(vifs, SizeIs(2));
  EXPECT_EQ(IdOf(vifs[1]), id);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  for (const Port& port : neutron_.ports()) EXPECT_EQ(port.tags, defaults_.tags);
}

TEST_F(NeutronRestartTest, OfTwoPortsForOneInterfaceOneGoes) {
  (void)neutron_.Add(PortFor(Pod("a")));
  (void)neutron_.Add(PortFor(Pod("a")));

  (void)Reserve(Pod("a"));

  EXPECT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 0U);
}

TEST_F(NeutronRestartTest, AdoptedPortsAreDeletedWhenNeutronSaysWhoseTheyAre) {
  const Vifs vifs = Written(Reserve(RequestOf(Pod("a"), {"net1"})), true);
  Start();
  backend_->Adopt(Pod("a"), vifs);

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronRestartTest, ForgedPlanCostsNobodyHisPort) {
  const Vifs vifs = Written(Reserve(Pod("victim")), true);
  times_.search = std::chrono::milliseconds(0);
  Start();
  backend_->Adopt(Pod("forger"), vifs);

  EXPECT_TRUE(Release("uid-forger"));

  EXPECT_THAT(neutron_.ports(), SizeIs(1));
}

TEST_F(NeutronRestartTest, ForgedPlanGetsNoVifOfAnothersPort) {
  const Vifs vifs = Written(Reserve(Pod("victim")), true);
  Start();
  backend_->Adopt(Pod("forger"), vifs);

  const Failure failure = Fail(RequestOf(Pod("forger")));

  EXPECT_EQ(failure.kind, Kind::kGone);
  EXPECT_THAT(failure.text, HasSubstr("was given to the pod with UID \"uid-victim\""));
}

TEST_F(NeutronRestartTest, ForgedPlanThatIsNotActiveIsReplaced) {
  const Vifs vifs = Reserve(Pod("victim"));
  Vifs none = vifs;
  vif::Common(none[0].vif).id = "11111111-0000-4000-8000-000000000000";
  neutron_.SetAllActive();
  for (const Vifs& forged : {vifs, none}) {
    Start();
    backend_->Adopt(Pod("forger"), Written(forged));

    const Vifs given = Reserve(Pod("forger"));

    ASSERT_THAT(given, SizeIs(1));
    EXPECT_NE(IdOf(given[0]), IdOf(forged[0]));
    EXPECT_FALSE(backend_->Await(Pod("forger"), given));
    EXPECT_TRUE(Release("uid-forger"));
    ASSERT_THAT(neutron_.ports(), SizeIs(1));
    EXPECT_EQ(neutron_.ports()[0].id, IdOf(vifs[0]));
  }
}

TEST_F(NeutronRestartTest, ForgedPlanThatIsReadFirstCostsTheVictimNothing) {
  const Vifs vifs = Reserve(Pod("victim"));
  Start();
  backend_->Adopt(Pod("forger"), Written(vifs));

  EXPECT_NO_THROW(backend_->Adopt(Pod("victim"), Written(vifs, true)));

  EXPECT_TRUE(backend_->Await(Pod("victim"), vifs));
  EXPECT_NE(IdOf(Reserve(Pod("forger")).at(0)), IdOf(vifs[0]));
}

TEST_F(NeutronRestartTest, TwoPlansWithOnePortAreAConflict) {
  const Vifs vifs = Written(Reserve(Pod("a")));

  try {
    backend_->Adopt(Pod("b"), vifs);
    FAIL();
  } catch (const PlanError& e) {
    EXPECT_EQ(e.kind(), Kind::kRefused);
    EXPECT_THAT(e.what(), HasSubstr("is team/a's"));
  }
}

TEST_F(NeutronRestartTest, WhatAnotherLeaderWroteReplacesWhatWasMadeHere) {
  const Vifs here = Reserve(Pod("a"));
  const std::string other = neutron_.Add(PortFor(Pod("a"))).id;
  Vifs written = Written(here);
  auto& vif = std::get<vif::VifOpenVSwitch>(written[0].vif);
  vif.id = other;
  std::get<vif::PortProfileOpenVSwitch>(*vif.port_profile).interface_id = other;

  backend_->Adopt(Pod("a"), written);

  EXPECT_TRUE(neutron_.WaitUntil(
      [&](const auto& ports) { return ports.size() == 1 && ports[0].id == other; }));
}

TEST_F(NeutronRestartTest, PodThatWasNeverPlannedHereIsReleasedToo) {
  (void)neutron_.Add(PortFor(Pod("a")));

  EXPECT_FALSE(backend_->Release("uid-a"));

  EXPECT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.empty(); }));
}

TEST_F(NeutronRestartTest, PortThatNeverGotItsTagsIsThisClustersBeforeThePodIsKnown) {
  neutron_.SetTagsAtCreation(false);
  const std::string id = IdOf(Reserve(Pod("a")).at(0));
  neutron_.Change(id, [](Port& port) { port.tags.clear(); });
  (void)neutron_.Add(PortFor(Pod("b")));  // another cluster's
  Start();

  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("a")));
  EXPECT_THAT(backend_->ListPorts(), SizeIs(1));
  neutron_.Change(id, [](Port& port) { port.tags = {"cluster-a"}; });
  EXPECT_THAT(backend_->ListPorts(), SizeIs(1)) << "it is not listed twice";
}

TEST_F(NeutronRestartTest, OtherProducersVifsAreLeftAlone) {
  vif::VifVlanNested nested;
  nested.id = neutron_.Add(PortFor(Pod("a"))).id;
  const vif::PodVif vif{.ifname = "eth0", .is_default = true, .vif = nested};
  EXPECT_FALSE(backend_->Owns(Pod("a"), vif));

  backend_->Adopt(Pod("a"), {vif});

  EXPECT_FALSE(backend_->Await(Pod("a"), {vif}));
}

TEST_F(NeutronRestartTest, EndWhileAPostIsUnderWayLosesNoPort) {
  neutron_.Hold("CreatePort");
  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("a"))));
  ASSERT_TRUE(neutron_.WaitForHeld());
  std::jthread restart([this] { Start(); });
  neutron_.LetGo();
  restart.join();

  const Vifs vifs = Reserve(Pod("a"));

  ASSERT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_EQ(IdOf(vifs.at(0)), neutron_.ports()[0].id);
}

TEST_F(NeutronRestartTest, RestartAtAnyPointEndsWithOnePort) {
  for (const char* call : {"ListPorts", "GetSubnet", "GetNetwork", "CreatePort", "SetTags"}) {
    const Owner owner = Pod(call);
    neutron_.SetTagsAtCreation(false);
    neutron_.Fail(call, {.done = true});
    EXPECT_FALSE(backend_->Reserve(RequestOf(owner))) << call;
    Start();

    const Vifs vifs = ReserveAtLast(RequestOf(owner));

    ASSERT_THAT(vifs, SizeIs(1)) << call;
    EXPECT_TRUE(Release(owner.id));
    EXPECT_THAT(neutron_.ports(), IsEmpty()) << call;
  }
}

}  // namespace
}  // namespace kuryr::controller::neutron
