#include "tests/controller/backends/neutron/stock/pool_fixture.h"
#include "tests/controller/backends/neutron/vifs/nested_fixture.h"

// Pods lose an interface while they run (NeutronBackend::ReleaseBut).

namespace kuryr::controller::neutron {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const auto kOneIsLeft = [](const std::vector<Port>& ports) { return ports.size() == 1; };

class RemovedInterfaceTest : public NeutronBackendTest {
 protected:
  RemovedInterfaceTest() {
    times_.search = std::chrono::milliseconds(0);
    Start();
  }

  /// Reserves a plan of eth0 and net1, and adopts it as when a watch tells of it.
  Vifs PlanTwo(bool active = true) {
    const Vifs vifs = Written(Reserve(RequestOf(Pod("a"), {"net1"})), active);
    backend_->Adopt(Pod("a"), vifs);
    return vifs;
  }
};

TEST_F(RemovedInterfaceTest, ItsPortIsDeletedAndTheOtherStays) {
  const Vifs vifs = PlanTwo();

  backend_->ReleaseBut(Pod("a"), {vifs[0]});

  ASSERT_TRUE(neutron_.WaitUntil(kOneIsLeft));
  EXPECT_EQ(neutron_.ports()[0].id, IdOf(vifs[0]));
  EXPECT_EQ(IdOf(Reserve(Pod("a")).at(0)), IdOf(vifs[0]));
}

TEST_F(RemovedInterfaceTest, PortThatWasNotActiveYetIsDeleted) {
  const Vifs vifs = PlanTwo(false);
  EXPECT_FALSE(backend_->Await(Pod("a"), vifs));

  backend_->ReleaseBut(Pod("a"), {vifs[0]});

  ASSERT_TRUE(neutron_.WaitUntil(kOneIsLeft));
  EXPECT_EQ(neutron_.ports()[0].id, IdOf(vifs[0]));
}

TEST_F(RemovedInterfaceTest, DeletionThatFailsIsTriedAgain) {
  const Vifs vifs = PlanTwo();
  neutron_.Fail("DeletePort", {});
  neutron_.Fail("GetPort", {});

  backend_->ReleaseBut(Pod("a"), {vifs[0]});

  EXPECT_TRUE(neutron_.WaitUntil(kOneIsLeft));
}

TEST_F(RemovedInterfaceTest, InterfaceOfThatNameGetsAnotherPort) {
  const Vifs vifs = PlanTwo();
  neutron_.Hold("DeletePort");
  backend_->ReleaseBut(Pod("a"), {vifs[0]});
  ASSERT_TRUE(neutron_.WaitForHeld());
  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("a"), {"net1"})));
  neutron_.LetGo();

  const Vifs others = Reserve(RequestOf(Pod("a"), {"net1"}));

  ASSERT_THAT(others, SizeIs(2));
  EXPECT_NE(IdOf(others[1]), IdOf(vifs[1]));
  EXPECT_THAT(neutron_.ports(), SizeIs(2));
}

TEST_F(RemovedInterfaceTest, EndOfThePodLeavesNothing) {
  const Vifs vifs = PlanTwo();
  neutron_.Fail("GetPort", {});
  backend_->ReleaseBut(Pod("a"), {vifs[0]});

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(RemovedInterfaceTest, PortThatIsAnotherOwnersInNeutronStays) {
  const Vifs vifs = PlanTwo();
  neutron_.Change(IdOf(vifs[1]), [](Port& port) { port.device_id = "uid-b"; });

  backend_->ReleaseBut(Pod("a"), {vifs[0]});

  ASSERT_TRUE(neutron_.WaitForCount("GetPort", 1));
  EXPECT_TRUE(Release("uid-a"));
  ASSERT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_EQ(neutron_.ports()[0].id, IdOf(vifs[1]));
}

class RemovedSubPortTest : public NestedTest {
 protected:
  RemovedSubPortTest() : NestedTest(PodVifDriver::kNestedVlan) {}
};

TEST_F(RemovedSubPortTest, LeavesTheTrunk) {
  const Vifs vifs = Written(Reserve(Nested(Pod("a"), {"net1"})), true);
  backend_->Adopt(Pod("a"), vifs);

  backend_->ReleaseBut(Pod("a"), {vifs[0]});

  ASSERT_TRUE(neutron_.WaitUntil(kOneIsLeft));
  ASSERT_THAT(Node().sub_ports, SizeIs(1));
  EXPECT_EQ(Node().sub_ports[0].port_id, IdOf(vifs[0]));
}

class RemovedPoolPortTest : public PoolTest {};

TEST_F(RemovedPoolPortTest, IsReadyForTheNextPod) {
  Start();
  (void)ReserveFirst();
  const Vifs vifs = Written(Reserve(RequestOf(Pod("b"), {"net1"})), true);
  backend_->Adopt(Pod("b"), vifs);

  backend_->ReleaseBut(Pod("b"), {vifs[0]});

  EXPECT_TRUE(WaitForCounts([](const PoolCounts& all) { return all.returns == 1; }));
  EXPECT_EQ(PortAt(IdOf(vifs[1])).name, "kuryr-pool-port");
}

}  // namespace
}  // namespace kuryr::controller::neutron
