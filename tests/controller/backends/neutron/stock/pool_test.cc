#include "tests/controller/backends/neutron/stock/pool_fixture.h"

// Ports are made before a pod asks for them, without failures.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class NeutronPoolTest : public PoolTest {
 protected:
  NeutronPoolTest() { Start(); }
};

TEST_F(NeutronPoolTest, FirstPodMakesItsOwnAndThePoolIsFilledBehindIt) {
  (void)ReserveFirst();

  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 1U);
  const std::vector<Port> ready = ReadyPortsNow();
  ASSERT_THAT(ready, SizeIs(3));
  for (const Port& port : ready) {
    EXPECT_EQ(port.name, "kuryr-pool-port");
    EXPECT_EQ(port.device_owner, "compute:kuryr");
    EXPECT_EQ(port.device_id, "");
    EXPECT_EQ(port.host_id, "n1");
    EXPECT_THAT(port.tags, ElementsAre("cluster-a"));
    EXPECT_THAT(port.security_groups, ElementsAre("group-a"));
    EXPECT_THAT(port.fixed_ips, SizeIs(2));
  }
}

TEST_F(PoolTest, FirstFillWaitsForNoInterval) {
  // Longer than any machine has been up.
  defaults_.pool.interval = std::chrono::hours(24 * 3650);
  Start();

  (void)ReserveFirst();

  EXPECT_EQ(counts().fills, 1U);
}

TEST_F(NeutronPoolTest, NextPodTakesOnePut) {
  (void)ReserveFirst();
  const size_t listed = neutron_.CountOf("ListPorts");

  const Vifs vifs = Reserve(Pod("b"));

  ASSERT_THAT(vifs, SizeIs(1));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 1U);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U) << "the first pod's";
  EXPECT_EQ(neutron_.CountOf("GetPort"), 0U);
  EXPECT_EQ(neutron_.CountOf("ListPorts"), listed);
  const Port port = PortAt(IdOf(vifs[0]));
  EXPECT_EQ(port.name, "team/b/eth0");
  EXPECT_EQ(port.device_id, "uid-b");
  EXPECT_EQ(counts().claims, 1U);
}

TEST_F(NeutronPoolTest, NodeTakesNoReadyPort) {
  (void)ReserveFirst();
  PlanRequest request = RequestOf({.id = "uid-n1", .name = "n1", .node = "n1"});
  request.interfaces[0].sends_from = {IpNetwork::Parse("10.96.0.0/12").value()};

  const Vifs vifs = Reserve(request);

  EXPECT_TRUE(PortAt(IdOf(vifs.at(0))).has_address_pairs);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0U);
}

TEST_F(NeutronPoolTest, InterfacesTakeAPortEach) {
  (void)ReserveFirst();

  const Vifs vifs = Reserve(RequestOf(Pod("b"), {"net1"}));

  ASSERT_THAT(vifs, SizeIs(2));
  EXPECT_EQ(PortAt(IdOf(vifs[0])).name, "team/b/eth0");
  EXPECT_EQ(PortAt(IdOf(vifs[1])).name, "team/b/net1");
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 2U);
}

TEST_F(NeutronPoolTest, LowPoolIsFilledAgain) {
  (void)ReserveFirst();

  (void)Reserve(Pod("b"));
  EXPECT_EQ(counts().fills, 1U) << "two are left, which are enough";
  (void)Reserve(Pod("c"));

  EXPECT_TRUE(WaitForReady(4)) << "one was left, and three are made";
}

TEST_F(NeutronPoolTest, ClaimedPortIsActiveWhenNeutronSaysSoAnew) {
  (void)ReserveFirst();
  neutron_.SetAllActive();
  neutron_.Hold("ActivePorts");

  const Vifs vifs = Reserve(Pod("b"));

  EXPECT_FALSE(backend_->Await(Pod("b"), vifs)) << "the pod before was";
  neutron_.LetGo();
  EXPECT_TRUE(WaitUntilActive(Pod("b"), vifs));
}

TEST_F(NeutronPoolTest, ReleasedPortIsReadyAgain) {
  (void)ReserveFirst();
  const Vifs vifs = Reserve(Pod("b"));
  neutron_.Change(IdOf(vifs[0]), [](Port& port) { port.security_groups = {"group-b"}; });

  EXPECT_TRUE(Release("uid-b"));

  EXPECT_EQ(neutron_.CountOf("DeletePort"), 0U);
  const Port port = PortAt(IdOf(vifs[0]));
  EXPECT_EQ(port.name, "kuryr-pool-port");
  EXPECT_EQ(port.device_id, "");
  EXPECT_THAT(port.security_groups, ElementsAre("group-a"));
  EXPECT_EQ(counts().ready, 3U);
  EXPECT_EQ(counts().returns, 1U);
}

TEST_F(NeutronPoolTest, ReleasedPortThatMaySendFromOthersAddressesIsDeleted) {
  (void)ReserveFirst();
  const std::string id = IdOf(Reserve(Pod("b")).at(0));
  neutron_.Change(id, [](Port& port) { port.has_address_pairs = true; });

  EXPECT_TRUE(Release("uid-b"));

  EXPECT_EQ(PortAt(id).id, "");
}

TEST_F(NeutronPoolTest, MoreThanTheMostAreDeleted) {
  defaults_.pool.most = 3;
  Start();
  (void)ReserveFirst();

  EXPECT_TRUE(Release("uid-first"));

  EXPECT_THAT(neutron_.ports(), SizeIs(3));
}

TEST_F(NeutronPoolTest, ThatComeBackAtOnceAreNotMoreThanTheMost) {
  defaults_.pool = {.enabled = true, .least = 0, .most = 1};
  Start();
  for (const char* name : {"a", "b", "c"}) (void)Reserve(Pod(name));
  neutron_.Hold("UpdatePort");

  for (const char* id : {"uid-a", "uid-b", "uid-c"}) EXPECT_FALSE(backend_->Release(id));

  EXPECT_TRUE(neutron_.WaitForCount("DeletePort", 2)) << "while the first is on its way";
  neutron_.LetGo();
  EXPECT_TRUE(WaitForReady(1));
  EXPECT_THAT(neutron_.ports(), SizeIs(1));
}

TEST_F(NeutronPoolTest, WhatAFillIsMakingHasItsPlaces) {
  defaults_.pool.most = 3;
  Start();
  neutron_.Hold("CreatePorts");
  (void)Reserve(Pod("a"));
  ASSERT_TRUE(neutron_.WaitForHeld());

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_EQ(neutron_.CountOf("DeletePort"), 1U);
  neutron_.LetGo();
  EXPECT_TRUE(WaitForReady(3));
  EXPECT_THAT(neutron_.ports(), SizeIs(3));
}

TEST_F(NeutronPoolTest, LessThanTheMostIsMade) {
  defaults_.pool.most = 2;
  Start();

  (void)Reserve(Pod("a"));

  EXPECT_TRUE(WaitForReady(2));
}

TEST_F(NeutronPoolTest, PortReadyLongestIsTheFirst) {
  const std::string id = IdOf(ReserveFirst().at(0));
  ASSERT_TRUE(Release("uid-first"));

  for (const char* name : {"a", "b", "c"}) EXPECT_NE(IdOf(Reserve(Pod(name)).at(0)), id);
}

TEST_F(NeutronPoolTest, PodOfAnotherNodeGetsNoneOfThisOne) {
  (void)ReserveFirst();
  Owner owner = Pod("b");
  owner.node = "n2";

  const Vifs vifs = Reserve(owner);

  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).host_id, "n2");
  EXPECT_EQ(counts().claims, 0U);
}

TEST_F(NeutronPoolTest, OwnAddressIsAskedForByAPostAlsoWhereAReadyPortHasIt) {
  (void)ReserveFirst();
  const Port ready = ReadyPortsNow().front();
  PlanRequest request = RequestOf(Pod("b"));
  request.interfaces[0].addresses = {ready.fixed_ips[0].address};

  const Vifs vifs = Reserve(request);

  EXPECT_THAT(PortAt(IdOf(vifs.at(0))).fixed_ips, ElementsAre(ready.fixed_ips[0]));
  EXPECT_EQ(PortAt(ready.id).id, "");
  EXPECT_EQ(counts().ready, 2U);
}

TEST_F(NeutronPoolTest, WithSlaacPortsAreMadeOneByOne) {
  neutron_.SetSlaac();

  (void)ReserveFirst();

  EXPECT_EQ(neutron_.CountOf("CreatePort"), 4U);
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 0U);
}

/// Neutron adds an address of the SLAAC subnet that nobody has asked for.
class SlaacPoolTest : public PoolTest {
 protected:
  SlaacPoolTest() { defaults_.subnets = {FakeNeutron::kSubnet4}; }

  void ExpectThatTheNextControllerGivesThem() {
    Lead();
    ASSERT_TRUE(WaitForReady(3));

    const Vifs vifs = Reserve(Pod("b"));

    ASSERT_THAT(vifs, SizeIs(1));
    EXPECT_THAT(vif::AddressesOf(vif::Common(vifs[0].vif)), SizeIs(1)) << "what was asked for";
    EXPECT_EQ(counts().claims, 1U);
    EXPECT_EQ(counts().fills, 0U);
    ASSERT_TRUE(Release("uid-b"));
    EXPECT_EQ(counts().returns, 1U);
  }
};

TEST_F(SlaacPoolTest, PortsWithAddressesThatNobodyAskedForAreReady) {
  neutron_.SetSlaac();
  Start();
  (void)ReserveFirst();
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 0U) << "Neutron cannot";

  ExpectThatTheNextControllerGivesThem();
}

TEST_F(SlaacPoolTest, PortsThatGetAnAddressLaterStayReady) {
  Start();
  (void)ReserveFirst();
  neutron_.SetSlaac();

  ExpectThatTheNextControllerGivesThem();
}

TEST_F(SlaacPoolTest, PoolsOfSlaacAloneAreKnownAgain) {
  defaults_.subnets = {FakeNeutron::kSubnet6};
  neutron_.SetSlaac();
  Start();
  (void)ReserveFirst();

  ASSERT_TRUE(Release("uid-first"));

  EXPECT_TRUE(WaitForReady(4));
  EXPECT_EQ(counts().returns, 1U);
}

TEST_F(NeutronPoolTest, WhereNeutronDropsTagsTheyAreSetAfterwards) {
  neutron_.SetTagsAtCreation(false);

  (void)ReserveFirst();

  for (const Port& port : ReadyPortsNow()) EXPECT_THAT(port.tags, ElementsAre("cluster-a"));
  EXPECT_THAT(Reserve(Pod("b")), SizeIs(1)) << "though tags moved its revision";
  EXPECT_EQ(counts().claims, 1U);
}

TEST_F(NeutronPoolTest, NextControllerTakesThePoolOver) {
  (void)ReserveFirst();
  Lead();
  ASSERT_TRUE(WaitForReady(3));

  EXPECT_THAT(Reserve(Pod("b")), SizeIs(1));

  EXPECT_EQ(counts().claims, 1U);
  EXPECT_EQ(counts().fills, 0U);
}

TEST_F(NeutronPoolTest, PortsOfKuryrsPoolsAreReady) {
  const PortRequest request{
      .network_id = FakeNeutron::kNetwork,
      .fixed_ips = {{FakeNeutron::kSubnet4, std::nullopt}, {FakeNeutron::kSubnet6, std::nullopt}},
      .device_owner = kDeviceOwner,
      .host_id = "n1",
      .security_groups = {{"group-b"}},
      .tags = {"cluster-a"}};
  const auto add = [&](const auto& change) {
    PortRequest other = request;
    change(other);
    return neutron_.Add(other).id;
  };
  const std::string nameless = add([](PortRequest&) {});
  const std::string named = add([](PortRequest& other) { other.name = "kuryr-pool-port"; });
  const std::string former = add([](PortRequest& other) { other.name = "available-port"; });
  const std::string in_use = add([](PortRequest&) {});
  neutron_.SetActive(in_use);
  (void)add([](PortRequest& other) { other.tags = {"cluster-b"}; });
  (void)add([](PortRequest& other) { other.device_id = "uid-x"; });
  (void)add(
      [](PortRequest& other) { other.fixed_ips = {{FakeNeutron::kOtherSubnet, std::nullopt}}; });

  Lead();
  ASSERT_TRUE(WaitForReady(3));

  std::vector<std::string> given;
  for (const char* name : {"b", "c", "d"}) given.push_back(IdOf(Reserve(Pod(name)).at(0)));
  EXPECT_THAT(given, UnorderedElementsAre(nameless, named, former));
  EXPECT_THAT(PortAt(nameless).security_groups, ElementsAre("group-a"));
}

TEST_F(NeutronPoolTest, PortOfAPlanIsNotReadyAndIsAfterItsRelease) {
  const Vifs made = ReserveFirst();
  const std::string id = IdOf(made.at(0));
  // As in Kuryr without port_debug: neither name nor device_id tells the port's owner.
  neutron_.Change(id, [](Port& port) { port.name = port.device_id = ""; });
  neutron_.Hold("ListPorts");
  Lead();
  ASSERT_TRUE(neutron_.WaitForHeld());
  backend_->Adopt(Pod("first"), Written(made, true));
  neutron_.LetGo();
  ASSERT_TRUE(WaitForReady(3));
  EXPECT_EQ(PortAt(id).name, "");

  EXPECT_TRUE(Release("uid-first"));

  EXPECT_EQ(PortAt(id).name, "kuryr-pool-port");
  EXPECT_EQ(counts().ready, 4U);
}

TEST_F(NeutronPoolTest, WithoutPoolsNothingIsMadeBefore) {
  defaults_.pool.enabled = false;
  Start();

  (void)Reserve(Pod("a"));
  EXPECT_TRUE(Release("uid-a"));

  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 0U);
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronPoolTest, ReadyPortsAreNobodys) {
  (void)ReserveFirst();

  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("first")));
}

}  // namespace
}  // namespace kuryr::controller::neutron
