#include "tests/controller/backends/neutron/neutron_fixture.h"

// Ports are deleted in Neutron by other clients.

namespace kuryr::controller::neutron {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class LostPortTest : public NeutronBackendTest {
 protected:
  LostPortTest() {
    times_.search = std::chrono::milliseconds(0);
    times_.look = std::chrono::milliseconds(2);
    times_.look_at_waiting = std::chrono::milliseconds(2);
    Start();
  }

  /// Reserves a plan, and adopts it as when a watch tells of it.
  Vifs Plan(const PlanRequest& request, bool active) {
    const Vifs vifs = Written(Reserve(request), active);
    backend_->Adopt(request.owner, vifs);
    EXPECT_EQ(backend_->Await(request.owner, vifs), active);
    return vifs;
  }
  /// Waits for other VIFs than the former ones; after 30 s, returns what Reserve gives.
  Vifs ReserveOthers(const PlanRequest& request, const Vifs& former) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (true) {
      const size_t before = wakes();
      const Vifs vifs = Reserve(request);
      if (vifs != former || std::chrono::steady_clock::now() > end) return vifs;
      (void)WaitForWake(before);
    }
  }
  /// Waits for the loss of a port; "" after 30 s without one.
  std::string WaitForLoss(const Owner& owner) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      const size_t before = wakes();
      if (const auto lost = backend_->FindLost(owner)) return *lost;
      (void)WaitForWake(before);
    }
    return "";
  }
};

TEST_F(LostPortTest, NodeGetsAnotherPortThoughItsPlanIsActive) {
  const PlanRequest node = RequestOf({.id = "uid-n1", .name = "n1", .node = "n1"});
  const Vifs vifs = Plan(node, true);

  neutron_.Erase(IdOf(vifs[0]));

  EXPECT_NE(IdOf(ReserveAtLast(node).at(0)), IdOf(vifs[0]));
  EXPECT_EQ(backend_->FindLost(node.owner), std::nullopt);
}

TEST_F(LostPortTest, BeforeThePlanIsActiveAPortThatIsGoneIsMadeAnew) {
  const Vifs vifs = Plan(RequestOf(Pod("a")), false);

  neutron_.Erase(IdOf(vifs[0]));

  const Vifs others = ReserveOthers(RequestOf(Pod("a")), vifs);
  ASSERT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_EQ(IdOf(others.at(0)), neutron_.ports()[0].id);
  EXPECT_FALSE(backend_->Await(Pod("a"), others));
  EXPECT_EQ(backend_->FindLost(Pod("a")), std::nullopt);
}

TEST_F(LostPortTest, PlanThatStillNamesTheLostPortDoesNotBringItBack) {
  const Vifs vifs = Plan(RequestOf(Pod("a")), false);
  neutron_.Erase(IdOf(vifs[0]));
  const Vifs others = ReserveOthers(RequestOf(Pod("a")), vifs);

  backend_->Adopt(Pod("a"), vifs);

  EXPECT_EQ(Reserve(Pod("a")), others);
}

TEST_F(LostPortTest, OtherInterfacesKeepTheirPorts) {
  const PlanRequest request = RequestOf(Pod("a"), {"net1"});
  const Vifs vifs = Plan(request, false);

  neutron_.Erase(IdOf(vifs[1]));

  const Vifs others = ReserveOthers(request, vifs);
  EXPECT_EQ(others.at(0), vifs[0]);
  EXPECT_NE(IdOf(others.at(1)), IdOf(vifs[1]));
}

TEST_F(LostPortTest, ActivePlanStaysAndSaysWhichPortIsGone) {
  const Vifs vifs = Plan(RequestOf(Pod("a")), true);
  EXPECT_EQ(backend_->FindLost(Pod("a")), std::nullopt);

  neutron_.Erase(IdOf(vifs[0]));

  EXPECT_THAT(WaitForLoss(Pod("a")), HasSubstr("eth0's port " + IdOf(vifs[0])));
  EXPECT_EQ(backend_->lost(), 1U);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  EXPECT_TRUE(Release("uid-a"));
  EXPECT_EQ(backend_->lost(), 0U);
}

TEST_F(LostPortTest, ControllerThatBeginsToLeadFindsTheLossAgain) {
  const Vifs vifs = Plan(RequestOf(Pod("a")), true);
  neutron_.Erase(IdOf(vifs[0]));
  Start();

  backend_->Adopt(Pod("a"), vifs);

  EXPECT_THAT(WaitForLoss(Pod("a")), HasSubstr(IdOf(vifs[0])));
}

TEST_F(LostPortTest, FirstLookAtAllPortsDoesNotWaitForTheLater) {
  times_.look = std::chrono::hours(1);
  const Vifs vifs = Plan(RequestOf(Pod("a")), true);
  neutron_.Erase(IdOf(vifs[0]));
  Start();

  backend_->Adopt(Pod("a"), vifs);

  EXPECT_THAT(WaitForLoss(Pod("a")), HasSubstr(IdOf(vifs[0])));
}

TEST_F(LostPortTest, PortThatAListLacksIsAskedForByItself) {
  const Vifs vifs = Plan(RequestOf(Pod("a")), false);
  neutron_.Fail("GetPort", {});  // the state is not known then

  neutron_.HideFromLists(IdOf(vifs[0]));

  EXPECT_TRUE(neutron_.WaitForCount("GetPort", 3));
  EXPECT_EQ(Reserve(Pod("a")), vifs);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
}

TEST_F(LostPortTest, LookThatFailsIsMadeAgain) {
  neutron_.Fail("ExistingPorts", {});
  const Vifs vifs = Plan(RequestOf(Pod("a")), true);

  neutron_.Erase(IdOf(vifs[0]));

  EXPECT_THAT(WaitForLoss(Pod("a")), HasSubstr(IdOf(vifs[0])));
}

}  // namespace
}  // namespace kuryr::controller::neutron
