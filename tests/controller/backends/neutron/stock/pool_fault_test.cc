#include <set>

#include "tests/controller/backends/neutron/stock/pool_fixture.h"

// Pools while Neutron refuses, loses and forgets, and other clients take ready ports.

namespace kuryr::controller::neutron {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ErrorKind = NeutronError::Kind;

class PoolFaultTest : public PoolTest {
 protected:
  PoolFaultTest() { Start(); }
};

TEST_F(PoolFaultTest, PortThatSomebodyElseTookIsLeftToHim) {
  (void)ReserveFirst();
  const std::vector<Port> ready = ReadyPortsNow();
  for (const Port& port : ready)
    neutron_.Change(port.id, [](Port& taken) {
      taken.name = "team/x/eth0";
      taken.device_id = "uid-x";
    });

  const Vifs vifs = Reserve(Pod("b"));

  EXPECT_EQ(counts().conflicts, 3U);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 2U) << "its own";
  for (const Port& port : ready) EXPECT_EQ(PortAt(port.id).device_id, "uid-x");
  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).device_id, "uid-b");
}

TEST_F(PoolFaultTest, PortWhoseStatusMovedItsRevisionIsTaken) {
  (void)ReserveFirst();
  for (const Port& port : ReadyPortsNow()) neutron_.SetActive(port.id, false);

  (void)Reserve(Pod("b"));

  EXPECT_EQ(neutron_.CountOf("GetPort"), 1U);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 2U);
  EXPECT_EQ(counts().claims, 1U);
  EXPECT_EQ(counts().conflicts, 0U);
}

TEST_F(PoolFaultTest, PortThatSomebodyDeletedIsPassedOver) {
  (void)ReserveFirst();
  const std::vector<Port> ready = ReadyPortsNow();
  neutron_.DeletePort(ready[0].id);
  neutron_.DeletePort(ready[1].id);

  EXPECT_EQ(IdOf(Reserve(Pod("b")).at(0)), ready[2].id);
}

TEST_F(PoolFaultTest, LostAnswerOfAClaimGivesOnePort) {
  for (const bool done : {true, false}) {
    (void)ReserveFirst();
    neutron_.Fail("UpdatePort", {.done = done});

    const Vifs vifs = ReserveAtLast(RequestOf(Pod("b")));

    ASSERT_THAT(vifs, SizeIs(1));
    size_t owned = 0;
    for (const Port& port : neutron_.ports()) owned += port.device_id == "uid-b" ? 1 : 0;
    EXPECT_EQ(owned, 1U) << done;
    EXPECT_TRUE(WaitForCounts([&](const PoolCounts& all) {
      return all.ready == ReadyPortsNow().size();
    })) << "what was not taken is found again";
    EXPECT_TRUE(Release("uid-b"));
    EXPECT_TRUE(Release("uid-first"));
    for (const Port& port : neutron_.ports()) neutron_.DeletePort(port.id);
    Start();
  }
}

TEST_F(PoolFaultTest, RefusedClaimKeepsThePortReady) {
  times_.retry_least = milliseconds(60'000);
  times_.retry_most = milliseconds(60'000);
  Start();
  (void)ReserveFirst();
  neutron_.Fail("UpdatePort", {.kind = ErrorKind::kUnauthorized});

  EXPECT_EQ(Fail(RequestOf(Pod("b"))).kind, Kind::kRetry);

  EXPECT_EQ(counts().ready, 3U);
}

TEST_F(PoolFaultTest, LostAnswerOfAReturnLeavesThePortReady) {
  for (const bool done : {true, false}) {
    (void)ReserveFirst();
    const Vifs vifs = Reserve(Pod("b"));
    neutron_.Fail("UpdatePort", {.done = done});

    EXPECT_TRUE(Release("uid-b"));

    EXPECT_EQ(PortAt(IdOf(vifs.at(0))).name, "kuryr-pool-port") << done;
    EXPECT_TRUE(WaitForReady(3)) << done;
    EXPECT_TRUE(Release("uid-first"));
    for (const Port& port : neutron_.ports()) neutron_.DeletePort(port.id);
    Start();
  }
}

TEST_F(PoolFaultTest, LostAnswerOfAFillIsFoundByAList) {
  neutron_.Fail("CreatePorts", {.done = true});

  (void)Reserve(Pod("a"));

  EXPECT_TRUE(WaitForCounts([](const PoolCounts& all) { return all.ready >= 3; }));
  EXPECT_TRUE(
      WaitForCounts([&](const PoolCounts& all) { return all.ready == ReadyPortsNow().size(); }));
}

TEST_F(PoolFaultTest, QuotaIsForPodsAndNoFillComesAgain) {
  // The fill or the pod's own port may come first.
  defaults_.pool.batch = 4;
  Start();
  neutron_.SetQuota(3);
  (void)Reserve(Pod("a"));
  ASSERT_TRUE(WaitForCounts([](const PoolCounts& all) { return all.failed_fills == 1; }));

  EXPECT_THAT(Reserve(Pod("b")), SizeIs(1));
  EXPECT_THAT(Reserve(Pod("c")), SizeIs(1));

  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 1U);
  EXPECT_EQ(counts().failed_fills, 1U);
}

TEST_F(PoolFaultTest, WhenTheQuotaIsUsedUpReadyPortsGiveWayToPodsOfOtherNodes) {
  (void)ReserveFirst();
  neutron_.SetQuota(4);
  Owner owner = Pod("b");
  owner.node = "n2";

  const Vifs vifs = Reserve(owner);

  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).host_id, "n2");
  EXPECT_THAT(ReadyPortsNow(), SizeIs(2));
}

TEST_F(PoolFaultTest, HostThatNeutronDoesNotBindToGetsNoPool) {
  (void)ReserveFirst();
  neutron_.KillHost("n1");
  (void)Reserve(Pod("b"));
  (void)Reserve(Pod("c"));

  EXPECT_TRUE(WaitForCounts([](const PoolCounts& all) { return all.failed_fills > 0; }));

  EXPECT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.size() == 4; }));
}

TEST_F(PoolFaultTest, ThrottledFillRests) {
  neutron_.Fail("CreatePorts", {.kind = ErrorKind::kThrottled, .retry_after = seconds(60)});

  (void)Reserve(Pod("a"));

  EXPECT_TRUE(WaitForCounts([](const PoolCounts& all) { return all.failed_fills == 1; }));
  (void)Reserve(Pod("b"));
  backend_.reset();
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 1U);
}

TEST_F(PoolFaultTest, WhoLeadsNoMoreFillsNothing) {
  neutron_.Hold("ListPorts");
  (void)Reserve(Pod("a"));
  ASSERT_TRUE(neutron_.WaitForHeld());
  may_write_ = false;
  neutron_.LetGo();

  backend_.reset();

  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 0U);
}

TEST_F(PoolFaultTest, ListThatFailsIsMadeAgain) {
  (void)ReserveFirst();
  neutron_.Fail("ListPorts", {});

  Lead();

  EXPECT_TRUE(WaitForReady(3));
}

TEST_F(PoolFaultTest, TwoControllersNeverGiveOnePortToTwoPods) {
  constexpr int kPods = 30;
  defaults_.pool.batch = 20;
  Start();
  (void)Reserve(Pod("first"));
  ASSERT_TRUE(WaitForReady(20));
  const std::unique_ptr<NeutronBackend> former = std::move(backend_);
  Lead();
  ASSERT_TRUE(WaitForReady(20));

  std::set<std::string> given;
  for (int i = 0; i < kPods; ++i) {
    (void)former->Reserve(RequestOf(Pod("x" + std::to_string(i))));
    (void)backend_->Reserve(RequestOf(Pod("y" + std::to_string(i))));
  }
  for (int i = 0; i < kPods; ++i) {
    for (const auto& [prefix, backend] :
         {std::pair("x", former.get()), std::pair("y", backend_.get())}) {
      const PlanRequest request = RequestOf(Pod(prefix + std::to_string(i)));
      std::optional<Vifs> vifs;
      while (!(vifs = backend->Reserve(request))) std::this_thread::sleep_for(milliseconds(1));
      EXPECT_TRUE(given.insert(IdOf(vifs->at(0))).second);
      EXPECT_EQ(PortAt(IdOf(vifs->at(0))).device_id, request.owner.id);
    }
  }
  EXPECT_GT(CountsOf(*former).conflicts + counts().conflicts, 0U);
}

TEST_F(PoolFaultTest, ManyPodsComeAndGoWithFaultsAndNothingIsLost) {
  constexpr int kPods = 60;
  for (const char* call : {"CreatePort", "CreatePorts", "UpdatePort", "GetPort", "ListPorts"}) {
    for (int i = 0; i < 10; ++i) neutron_.Fail(call, {.done = i % 2 == 0});
  }
  std::vector<Owner> owners;
  for (int i = 0; i < kPods; ++i) owners.push_back(Pod(std::to_string(i)));
  for (const Owner& owner : owners) EXPECT_FALSE(backend_->Reserve(RequestOf(owner)));
  std::set<std::string> given;
  for (const Owner& owner : owners)
    EXPECT_TRUE(given.insert(IdOf(ReserveAtLast(RequestOf(owner)).at(0))).second);

  for (const Owner& owner : owners) (void)backend_->Release(owner.id);
  for (const Owner& owner : owners) EXPECT_TRUE(Release(owner.id));

  EXPECT_TRUE(WaitForCounts([&](const PoolCounts& all) {
    return all.ready == ReadyPortsNow().size() && all.ready == neutron_.ports().size();
  }));
}

/// Nodes that are virtual machines.
class NestedPoolTest : public PoolTest {
 protected:
  NestedPoolTest() {
    defaults_.driver = PodVifDriver::kNestedVlan;
    defaults_.worker_subnets = {FakeNeutron::kNodeSubnet};
    node_ = neutron_.AddNode("192.0.2.10", "3f830025-9add-43a5-b95e-2525d380e446").id;
    Start();
  }

  static PlanRequest Nested(const Owner& owner) {
    PlanRequest request = RequestOf(owner);
    request.node_addresses = {Ip("192.0.2.10")};
    return request;
  }

  std::string node_;
};

TEST_F(NestedPoolTest, ReadySubPortsAreInTheTrunkAndStayThere) {
  (void)Reserve(Nested(Pod("a")));
  ASSERT_TRUE(WaitForReady(3));
  const std::vector<SubPort> sub_ports = neutron_.Node(node_).sub_ports;
  ASSERT_THAT(sub_ports, SizeIs(4));

  const Vifs vifs = Reserve(Nested(Pod("b")));

  EXPECT_EQ(neutron_.CountOf("AddSubPort"), 4U);
  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).description, "pod uid-b");
  EXPECT_TRUE(Release("uid-b"));
  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).description, "");
  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).name, "kuryr-pool-port");
  EXPECT_EQ(neutron_.Node(node_).sub_ports, sub_ports);
}

TEST_F(NestedPoolTest, ActiveSubPortIsActiveAtOnce) {
  (void)Reserve(Nested(Pod("a")));
  ASSERT_TRUE(WaitForReady(3));
  neutron_.SetAllActive();

  const Vifs vifs = Reserve(Nested(Pod("b")));

  EXPECT_TRUE(backend_->Await(Pod("b"), vifs));
}

TEST_F(NestedPoolTest, NextControllerFindsThePoolsTrunk) {
  (void)Reserve(Nested(Pod("a")));
  ASSERT_TRUE(WaitForReady(3));
  Lead(Nested(Pod("b")));
  ASSERT_TRUE(WaitForReady(3));

  (void)Reserve(Nested(Pod("c")));

  EXPECT_EQ(counts().claims, 1U);
  EXPECT_EQ(counts().fills, 0U);
}

}  // namespace
}  // namespace kuryr::controller::neutron
