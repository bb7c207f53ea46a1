#include <atomic>
#include <set>

#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/stock/pool_fixture.h"

// A network for each namespace.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kUid = "0b6cbb3f-93e3-4b0f-8f10-6f3cf7a4a9b1";
constexpr const char* kOtherUid = "6a8a3bb1-0b3c-4f57-9d3f-0d7c0f4a55d2";
constexpr const char* kDescription =
    "kuryr-controller of cluster-a: namespace 0b6cbb3f-93e3-4b0f-8f10-6f3cf7a4a9b1";

class ScopeNetworksTest : public PoolTest {
 protected:
  ScopeNetworksTest() {
    defaults_.pool.enabled = false;
    defaults_.subnets.clear();
    defaults_.scope_subnets = true;
    defaults_.subnet_pools = {FakeNeutron::kPool4, FakeNeutron::kPool6};
    defaults_.router = FakeNeutron::kRouter;
    is_scope_ = [this](const std::string& id) {
      const MutexLock lock(mutex_);
      return scopes_.contains(id);
    };
    Start();
  }
  /// The backend calls this object, so it ends first.
  ~ScopeNetworksTest() override {
    neutron_.LetGo();
    backend_.reset();
  }

  PlanRequest RequestIn(const std::string& uid, const std::string& pod) const {
    PlanRequest request = RequestOf(Pod(pod));
    request.scope.id = uid;
    return request;
  }
  Vifs ReserveIn(const std::string& uid, const std::string& pod) {
    return ReserveAtLast(RequestIn(uid, pod));
  }
  void End(const std::string& uid) {
    {
      const MutexLock lock(mutex_);
      scopes_.erase(uid);
    }
    backend_->SweepScopes();
  }
  [[nodiscard]] std::vector<Port> RouterPorts() const {
    std::vector<Port> ports = neutron_.ports();
    std::erase_if(ports, [](const Port& port) { return port.device_id != FakeNeutron::kRouter; });
    return ports;
  }
  [[nodiscard]] Port PortOf(const Vifs& vifs) const { return PortAt(IdOf(vifs.at(0))); }

  std::set<std::string> scopes_ GUARDED_BY(mutex_) = {kUid, kOtherUid};
};

TEST_F(ScopeNetworksTest, FirstPodOfANamespaceGetsItsNetworkWithASubnetOfEachPoolAndTheRouter) {
  const Vifs vifs = ReserveIn(kUid, "a");

  ASSERT_THAT(neutron_.networks(), SizeIs(1));
  const Network network = neutron_.networks()[0];
  EXPECT_EQ(network.name, "ns/team-net");
  EXPECT_EQ(network.description, kDescription);
  EXPECT_THAT(network.tags, ElementsAre("cluster-a"));
  const std::vector<Subnet> subnets = neutron_.SubnetsOf(network.id);
  ASSERT_THAT(subnets, SizeIs(2));
  for (const Subnet& subnet : subnets) {
    EXPECT_EQ(subnet.name, "ns/team-subnet");
    EXPECT_THAT(subnet.tags, ElementsAre("cluster-a"));
  }
  EXPECT_THAT(RouterPorts(), SizeIs(2));
  const Port port = PortOf(vifs);
  EXPECT_EQ(port.network_id, network.id);
  EXPECT_THAT(port.fixed_ips, SizeIs(2));
}

TEST_F(ScopeNetworksTest, LaterPodsTakeOneRequestEach) {
  (void)ReserveIn(kUid, "a");
  const size_t lists = neutron_.CountOf("ListNetworks");

  const Vifs vifs = ReserveIn(kUid, "b");

  EXPECT_EQ(neutron_.CountOf("CreatePort"), 2U);
  EXPECT_EQ(neutron_.CountOf("ListNetworks"), lists);
  EXPECT_EQ(PortOf(vifs).network_id, neutron_.networks().at(0).id);
}

TEST_F(ScopeNetworksTest, ManyFirstPodsAtOnceMakeOneNetwork) {
  neutron_.Hold("CreateNetwork");
  std::vector<PlanRequest> requests;
  for (const char* pod : {"a", "b", "c", "d"}) requests.push_back(RequestIn(kUid, pod));
  for (const PlanRequest& request : requests) EXPECT_FALSE(backend_->Reserve(request));
  ASSERT_TRUE(neutron_.WaitForHeld());
  neutron_.LetGo();

  for (const PlanRequest& request : requests) EXPECT_THAT(ReserveAtLast(request), SizeIs(1));

  EXPECT_THAT(neutron_.networks(), SizeIs(1));
  EXPECT_EQ(neutron_.CountOf("CreateSubnet"), 2U);
}

TEST_F(ScopeNetworksTest, NamespacesHaveNetworksOfTheirOwn) {
  const Vifs one = ReserveIn(kUid, "a");
  PlanRequest request = RequestIn(kOtherUid, "b");
  request.owner.scope = "other";

  const Vifs other = ReserveAtLast(request);

  EXPECT_NE(PortOf(one).network_id, PortOf(other).network_id);
  EXPECT_THAT(neutron_.networks(), SizeIs(2));
}

TEST_F(ScopeNetworksTest, NamespaceThatWasMadeAnewGetsANetworkAnew) {
  const Vifs former = ReserveIn(kUid, "a");

  const Vifs now = ReserveIn(kOtherUid, "b");

  EXPECT_NE(PortOf(former).network_id, PortOf(now).network_id);
}

TEST_F(ScopeNetworksTest, NextControllerFindsTheNetwork) {
  const Vifs before = ReserveIn(kUid, "a");
  Start();

  const Vifs after = ReserveIn(kUid, "b");

  EXPECT_EQ(PortOf(before).network_id, PortOf(after).network_id);
  EXPECT_EQ(neutron_.CountOf("CreateNetwork"), 1U);
  EXPECT_EQ(neutron_.CountOf("CreateSubnet"), 2U);
  EXPECT_EQ(neutron_.CountOf("AddRouterInterface"), 2U);
}

TEST_F(ScopeNetworksTest, RestartAtAnyPointEndsWithOneNetwork) {
  times_.search = std::chrono::hours(1);
  Start();
  for (const char* call :
       {"ListNetworks", "CreateNetwork", "SetNetworkTags", "GetSubnetPool", "ListSubnets",
        "CreateSubnet", "SetSubnetTags", "ListPorts", "AddRouterInterface"}) {
    for (const bool done : {true, false}) {
      neutron_.Fail(call, {.done = done});
      EXPECT_FALSE(backend_->Reserve(RequestIn(kUid, "a"))) << call;
      Start();

      ASSERT_THAT(ReserveIn(kUid, "a"), SizeIs(1)) << call;

      ASSERT_THAT(neutron_.networks(), SizeIs(1)) << call;
      const Network network = neutron_.networks()[0];
      EXPECT_THAT(network.tags, ElementsAre("cluster-a")) << call;
      EXPECT_THAT(neutron_.SubnetsOf(network.id), SizeIs(2)) << call;
      EXPECT_THAT(RouterPorts(), SizeIs(2)) << call;
      EXPECT_TRUE(Release("uid-a"));
      End(kUid);
      EXPECT_TRUE(neutron_.WaitForNetworks(0)) << call;
      const MutexLock lock(mutex_);
      scopes_.insert(kUid);
    }
  }
}

TEST_F(ScopeNetworksTest, OfTwoNetworksThatARequestWithoutAnAnswerMadeOneGoes) {
  for (int i = 0; i < 2; ++i)
    (void)neutron_.CreateNetwork({.name = "ns/team-net", .description = kDescription});

  (void)ReserveIn(kUid, "a");

  EXPECT_THAT(neutron_.networks(), SizeIs(1));
}

TEST_F(ScopeNetworksTest, KuryrsNetworkIsTakenOver) {
  const Network kuryrs = neutron_.CreateNetwork({.name = "ns/team-net"});
  neutron_.SetNetworkTags(kuryrs.id, {"cluster-a"});
  (void)neutron_.CreateSubnet(
      {.name = "ns/team-subnet", .network_id = kuryrs.id, .pool = {.id = FakeNeutron::kPool4}});
  const Network others = neutron_.CreateNetwork({.name = "ns/team-net"});
  neutron_.SetNetworkTags(others.id, {"cluster-b"});

  const Vifs vifs = ReserveIn(kUid, "a");

  EXPECT_EQ(PortOf(vifs).network_id, kuryrs.id);
  EXPECT_THAT(neutron_.SubnetsOf(kuryrs.id), SizeIs(2)) << "IPv4's was there";
  EXPECT_EQ(neutron_.GetNetwork(kuryrs.id).description, kDescription);
  EXPECT_THAT(neutron_.SubnetsOf(others.id), IsEmpty());
}

TEST_F(ScopeNetworksTest, PoolWithoutAPrefixIsNamedAndAskedAgain) {
  neutron_.SetPrefixes(0);

  const Failure failure = Fail(RequestIn(kUid, "a"));

  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_THAT(failure.text, HasSubstr(std::string("subnet pool ") + FakeNeutron::kPool4));
  neutron_.SetPrefixes(2);
  EXPECT_THAT(ReserveIn(kUid, "a"), SizeIs(1));
  EXPECT_THAT(neutron_.networks(), SizeIs(1));
}

TEST_F(ScopeNetworksTest, RouterThatDoesNotTakeTheSubnetIsToldToEveryPod) {
  neutron_.Fail("AddRouterInterface", {.kind = NeutronError::Kind::kBadRequest});
  neutron_.Fail("AddRouterInterface", {.kind = NeutronError::Kind::kBadRequest});

  EXPECT_EQ(Fail(RequestIn(kUid, "a")).kind, Kind::kRefused);
  EXPECT_EQ(Fail(RequestIn(kUid, "b")).kind, Kind::kRefused);

  EXPECT_THAT(ReserveIn(kUid, "a"), SizeIs(1));
}

TEST_F(ScopeNetworksTest, NetworkThatSomebodyDeletedIsMadeAnew) {
  (void)ReserveIn(kUid, "a");
  EXPECT_TRUE(Release("uid-a"));
  const std::string network = neutron_.networks().at(0).id;
  for (const Subnet& subnet : neutron_.SubnetsOf(network))
    neutron_.RemoveRouterInterface(FakeNeutron::kRouter, subnet.id);
  neutron_.DeleteNetwork(network);

  const Vifs vifs = ReserveIn(kUid, "b");

  ASSERT_THAT(neutron_.networks(), SizeIs(1));
  EXPECT_EQ(PortOf(vifs).network_id, neutron_.networks()[0].id);
}

TEST_F(ScopeNetworksTest, NetworkGoesWithItsNamespaceOnceItsPodsHaveGone) {
  (void)ReserveIn(kUid, "a");
  (void)ReserveIn(kUid, "b");
  const size_t lists = neutron_.CountOf("ListNetworks");
  End(kUid);
  ASSERT_TRUE(neutron_.WaitForCount("ListNetworks", lists + 2)) << "looked at, and again";
  EXPECT_THAT(neutron_.networks(), SizeIs(1));
  EXPECT_THAT(RouterPorts(), SizeIs(2)) << "the pods still need it";

  EXPECT_TRUE(Release("uid-a"));
  EXPECT_TRUE(Release("uid-b"));

  EXPECT_TRUE(neutron_.WaitForNetworks(0));
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(ScopeNetworksTest, NextControllerDeletesWhatEndedMeanwhileAndNothingElse) {
  (void)ReserveIn(kUid, "a");
  EXPECT_TRUE(Release("uid-a"));
  const std::string network = neutron_.networks().at(0).id;
  const Network others = neutron_.CreateNetwork(
      {.name = "ns/team-net",
       .description = "kuryr-controller of cluster-b: namespace " + std::string(kUid)});
  const Network living = neutron_.CreateNetwork(
      {.name = "ns/other-net",
       .description = "kuryr-controller of cluster-a: namespace " + std::string(kOtherUid)});
  Start();

  End(kUid);

  EXPECT_TRUE(neutron_.WaitForNetworks(2));
  EXPECT_EQ(neutron_.GetNetwork(others.id).name, "ns/team-net");
  EXPECT_EQ(neutron_.GetNetwork(living.id).name, "ns/other-net");
  EXPECT_THAT(neutron_.SubnetsOf(network), IsEmpty());
}

TEST_F(ScopeNetworksTest, RemovalThatFailsIsTriedAgain) {
  (void)ReserveIn(kUid, "a");
  EXPECT_TRUE(Release("uid-a"));
  for (const char* call : {"ListNetworks", "ListPorts", "RemoveRouterInterface", "DeleteNetwork"})
    neutron_.Fail(call, {.done = true});

  End(kUid);

  EXPECT_TRUE(neutron_.WaitForNetworks(0));
}

TEST_F(ScopeNetworksTest, WithoutTheDriverNothingIsSwept) {
  (void)neutron_.CreateNetwork({.name = "ns/gone-net", .description = kDescription});
  defaults_.scope_subnets = false;
  defaults_.subnets = {FakeNeutron::kSubnet4};
  Start();

  End(kUid);
  (void)ReserveIn(kUid, "a");

  EXPECT_EQ(neutron_.CountOf("ListNetworks"), 0U);
}

TEST_F(ScopeNetworksTest, PoolIsOfTheNamespaceAndGoesWithIt) {
  defaults_.pool.enabled = true;
  Start();
  (void)ReserveIn(kUid, "a");
  ASSERT_TRUE(WaitForReady(3));
  const Vifs vifs = ReserveIn(kUid, "b");
  EXPECT_EQ(counts().claims, 1U);
  EXPECT_EQ(PortOf(vifs).network_id, neutron_.networks().at(0).id);
  PlanRequest request = RequestIn(kOtherUid, "c");
  request.owner.scope = "other";
  (void)ReserveAtLast(request);
  EXPECT_EQ(counts().claims, 1U) << "another namespace's pool";
  EXPECT_TRUE(Release("uid-a"));
  EXPECT_TRUE(Release("uid-b"));

  End(kUid);

  EXPECT_TRUE(neutron_.WaitForNetworks(1));
}

}  // namespace
}  // namespace kuryr::controller::neutron
