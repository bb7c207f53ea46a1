#include "tests/controller/backends/neutron/stock/pool_fixture.h"

// Ports that interrupted fills leave, and which of them the next list takes.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PoolLeftoverTest : public PoolTest {
 protected:
  PoolLeftoverTest() {
    neutron_.SetTagsAtCreation(false);
    Start();
  }

  /// The ports of a fill that was killed before it set their tags.
  std::vector<Port> LeaveBehind() {
    (void)ReserveFirst();
    backend_.reset();
    for (const Port& port : ReadyPortsNow())
      neutron_.Change(port.id, [](Port& left) { left.tags.clear(); });
    return ReadyPortsNow();
  }
};

TEST_F(PoolLeftoverTest, PortsThatHaveNoTagsYetAreTakenAndGetThem) {
  const std::vector<Port> left = LeaveBehind();
  ASSERT_THAT(left, SizeIs(3));

  Lead();

  EXPECT_TRUE(WaitForReady(3));
  for (const Port& port : left) EXPECT_THAT(PortAt(port.id).tags, ElementsAre("cluster-a"));
  EXPECT_EQ(IdOf(Reserve(Pod("b")).at(0)), left[0].id);
  EXPECT_EQ(counts().fills, 0U);
}

TEST_F(PoolLeftoverTest, AnotherClustersPortsWithoutTagsAreLeftToIt) {
  const std::vector<Port> left = LeaveBehind();
  ASSERT_THAT(left, SizeIs(3));
  neutron_.Change(left[0].id,
                  [](Port& port) { port.description = "kuryr-controller of cluster-b"; });
  neutron_.Change(left[1].id, [](Port& port) { port.description.clear(); });

  Lead();

  EXPECT_TRUE(WaitForReady(1));
  for (size_t i : {0U, 1U}) EXPECT_THAT(PortAt(left[i].id).tags, IsEmpty()) << i;
  EXPECT_THAT(ReadyPortsNow(), SizeIs(3));
}

TEST_F(PoolLeftoverTest, ReadyPortsWithoutTagsAndMarkAreListedAndRemoved) {
  const std::vector<Port> left = LeaveBehind();
  ASSERT_THAT(left, SizeIs(3));
  neutron_.Change(left[0].id, [](Port& port) { port.description.clear(); });
  neutron_.Change(left[1].id, [](Port& port) {
    port.description.clear();
    port.tags = {"cluster-b"};
  });
  Start();

  const std::vector<ListedPort> unmarked = backend_->ListUnmarked();
  ASSERT_THAT(unmarked, SizeIs(1));
  EXPECT_EQ(unmarked[0].id, left[0].id);
  EXPECT_EQ(unmarked[0].place, "n1");
  backend_->RemoveUnmarked(left[0].id);

  EXPECT_THAT(backend_->ListUnmarked(), IsEmpty());
  EXPECT_THAT(ReadyPortsNow(), SizeIs(2));
}

TEST_F(PoolLeftoverTest, EveryClustersMarkIsItsOwnAndShortEnoughForNeutron) {
  PodDefaults one{.tags = {"b", "a"}};
  PodDefaults same{.tags = {"a", "b"}};
  PodDefaults other{.tags = {"a"}};
  EXPECT_EQ(MarkOf(one), MarkOf(same));
  EXPECT_NE(MarkOf(one), MarkOf(other));
  EXPECT_EQ(MarkOf({}), "");

  one.tags = {std::string(255, 'x'), "y"};
  other.tags = {std::string(255, 'x'), "z"};
  EXPECT_NE(MarkOf(one), MarkOf(other));
  EXPECT_LE(MarkOf(one).size(), 255U);
}

TEST_F(PoolLeftoverTest, PodsPortThatNeverGotItsTagsIsDeletedAtThePodsEnd) {
  const std::string id = IdOf(ReserveFirst().at(0));
  neutron_.Change(id, [](Port& port) { port.tags.clear(); });
  times_.search = std::chrono::hours(1);
  Lead();
  ASSERT_TRUE(WaitForReady(3));

  EXPECT_TRUE(Release(Pod("first").id));

  EXPECT_EQ(PortAt(id).id, "") << "without tags and mark, nobody would ever know whose it is";
}

TEST_F(PoolLeftoverTest, PodsPortHasNoDescription) {
  (void)ReserveFirst();

  const Vifs vifs = Reserve(Pod("b"));

  EXPECT_EQ(counts().claims, 1U);
  EXPECT_EQ(PortAt(IdOf(vifs.at(0))).description, "");
}

TEST_F(PoolLeftoverTest, TagsThatFailAreSetByAListAndNoPortIsMadeTwice) {
  (void)Reserve(Pod("a"));
  ASSERT_TRUE(WaitForReady(3));
  for (const bool done : {true, false}) neutron_.Fail("SetTags", {.done = done});

  for (const char* name : {"b", "c"}) (void)Reserve(Pod(name));

  EXPECT_TRUE(WaitForCounts([](const PoolCounts& all) { return all.failed_fills == 1; }));
  EXPECT_TRUE(WaitForReady(4)) << "one was left, and three are made";
  EXPECT_THAT(ReadyPortsNow(), SizeIs(4));
  for (const Port& port : ReadyPortsNow()) EXPECT_THAT(port.tags, ElementsAre("cluster-a"));
}

TEST_F(PoolLeftoverTest, PortThatWasNeverBoundIsDeleted) {
  const std::vector<Port> left = LeaveBehind();
  ASSERT_THAT(left, SizeIs(3));
  neutron_.Change(left[0].id, [](Port& port) { port.vif_type = "binding_failed"; });
  neutron_.Change(left[1].id, [](Port& port) {
    port.vif_type = "binding_failed";
    port.device_id = "uid-x";
  });

  Lead();

  EXPECT_TRUE(WaitForReady(1));
  EXPECT_EQ(PortAt(left[0].id).id, "");
  EXPECT_EQ(PortAt(left[1].id).id, left[1].id) << "a pod's";
}

TEST_F(PoolLeftoverTest, PortThatIsInNoTrunkIsDeleted) {
  defaults_.driver = PodVifDriver::kNestedVlan;
  defaults_.worker_subnets = {FakeNeutron::kNodeSubnet};
  (void)neutron_.AddNode("192.0.2.10", "3f830025-9add-43a5-b95e-2525d380e446");
  const std::string left = neutron_
                               .Add({.name = kReadyName,
                                     .description = MarkOf(defaults_),
                                     .network_id = FakeNeutron::kNetwork,
                                     .fixed_ips = {{FakeNeutron::kSubnet4, std::nullopt}},
                                     .device_owner = kDeviceOwner})
                               .id;

  Start();
  PlanRequest request = RequestOf(Pod("a"));
  request.node_addresses = {Ip("192.0.2.10")};

  (void)Reserve(request);

  EXPECT_TRUE(WaitForReady(3));
  EXPECT_EQ(PortAt(left).id, "");
  EXPECT_THAT(neutron_.ports(), SizeIs(4));
}

}  // namespace
}  // namespace kuryr::controller::neutron
