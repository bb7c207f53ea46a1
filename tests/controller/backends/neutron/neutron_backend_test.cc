#include "controller/backends/neutron/neutron_backend.h"

#include "controller/backends/neutron/api/port_name.h"
#include "controller/backends/neutron/ports/port_request.h"
#include "tests/controller/backends/neutron/neutron_fixture.h"

// The VIFs and ports of a backend of ports, without failures.

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NeutronPlanTest : public NeutronBackendTest {
 protected:
  NeutronPlanTest() {
    times_.search = std::chrono::milliseconds(0);
    Start();
  }
};

TEST_F(NeutronPlanTest, PodTakesOnePost) {
  const Vifs vifs = Reserve(Pod("a"));

  ASSERT_THAT(vifs, SizeIs(1));
  EXPECT_EQ(vifs[0].ifname, "eth0");
  EXPECT_TRUE(vifs[0].is_default);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  EXPECT_EQ(neutron_.CountOf("ListPorts"), 0U);
  const Port port = neutron_.ports().at(0);
  EXPECT_EQ(IdOf(vifs[0]), port.id);
  EXPECT_EQ(port.name, "team/a/eth0");
  EXPECT_EQ(port.device_id, "uid-a");
  EXPECT_EQ(port.device_owner, "compute:kuryr");
  EXPECT_EQ(port.host_id, "n1");
  EXPECT_THAT(port.tags, ElementsAre("cluster-a"));
  EXPECT_THAT(port.security_groups, ElementsAre("default-group")) << "none were sent";
  EXPECT_THAT(port.fixed_ips, SizeIs(2));
}

TEST_F(NeutronPlanTest, ManagementPortOfANodeMaySendFromServices) {
  PlanRequest request = RequestOf({.id = "uid-n1", .name = "n1", .node = "n1"});
  request.interfaces[0].sends_from = {IpNetwork::Parse("10.96.0.0/12").value()};

  EXPECT_THAT(Reserve(request), SizeIs(1));

  const Port port = neutron_.ports().at(0);
  EXPECT_EQ(port.name, "/n1/eth0");
  EXPECT_EQ(port.device_id, "uid-n1");
  EXPECT_EQ(port.host_id, "n1");
  EXPECT_TRUE(port.has_address_pairs);
}

TEST_F(NeutronBackendTest, ManagementPortOfANodeHasGroupsOfItsOwn) {
  defaults_.security_groups = {"of-pods"};
  defaults_.node_groups = {"of-nodes"};
  Start();

  (void)Reserve(RequestOf({.id = "uid-n1", .name = "n1", .node = "n1"}));

  EXPECT_THAT(neutron_.ports().at(0).security_groups, ElementsAre("of-nodes"));
}

TEST_F(NeutronPlanTest, SeveralInterfacesTakeOneBulkPost) {
  PlanRequest request = RequestOf(Pod("a"), {"net1", "net2"});
  std::swap(request.interfaces[0], request.interfaces[2]);

  const Vifs vifs = Reserve(request);

  ASSERT_THAT(vifs, SizeIs(3));
  EXPECT_EQ(vifs[0].ifname, "eth0") << "the default one first";
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 1U);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 0U);
  EXPECT_EQ(neutron_.CountOf("SetTags"), 0U);
}

TEST_F(NeutronPlanTest, WhereNeutronDropsTagsTheyAreSetAfterwards) {
  neutron_.SetTagsAtCreation(false);

  (void)Reserve(RequestOf(Pod("a"), {"net1"}));
  (void)Reserve(Pod("b"));

  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 1U);
  for (const Port& port : neutron_.ports()) EXPECT_THAT(port.tags, ElementsAre("cluster-a"));
}

TEST_F(NeutronPlanTest, WithSlaacPortsAreMadeOneByOne) {
  neutron_.SetSlaac();

  EXPECT_THAT(Reserve(RequestOf(Pod("a"), {"net1"})), SizeIs(2));

  EXPECT_EQ(neutron_.CountOf("CreatePort"), 2U);
  EXPECT_EQ(neutron_.CountOf("CreatePorts"), 0U);
}

TEST_F(NeutronPlanTest, SameVifsAtEveryCall) {
  const Vifs first = Reserve(Pod("a"));

  EXPECT_EQ(Reserve(Pod("a")), first);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
}

TEST_F(NeutronPlanTest, WishesAreSent) {
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces[0].addresses = {Ip("10.10.0.77")};
  request.interfaces[0].mac = MacAddress::Parse("0a:58:0a:0a:00:4d");

  (void)Reserve(request);

  const Port port = neutron_.ports().at(0);
  EXPECT_THAT(port.fixed_ips, ElementsAre(FixedIp{FakeNeutron::kSubnet4, Ip("10.10.0.77")}));
  EXPECT_EQ(port.mac.ToString(), "0a:58:0a:0a:00:4d");
}

TEST_F(NeutronPlanTest, GatewaysAndForeignAddressesAreNotGiven) {
  const auto refusal = [this](const char* address) {
    PlanRequest request = RequestOf(Pod("a"));
    request.interfaces[0].addresses = {Ip(address)};
    const Failure failure = Fail(request);
    EXPECT_EQ(failure.kind, Kind::kRefused);
    return failure.text;
  };
  EXPECT_THAT(refusal("10.10.0.1"), HasSubstr("is its gateway's"));
  EXPECT_THAT(refusal("10.10.0.201"), HasSubstr("in none of its allocation pools"));
  EXPECT_THAT(refusal("10.11.0.1"), HasSubstr("is in no subnet of interface eth0"));
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronPlanTest, NamedSubnetHasToBeListed) {
  PlanRequest request = RequestOf(Pod("a"), {"net1"});
  request.interfaces[1].network = FakeNeutron::kOtherSubnet;

  const Failure failure = Fail(request);

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, HasSubstr("[neutron_defaults] additional_subnets"));

  defaults_.more_subnets = {FakeNeutron::kOtherSubnet};
  Start();
  EXPECT_THAT(Reserve(request), SizeIs(2));
}

TEST_F(NeutronPlanTest, NetworkThatIsNoUuidIsRefused) {
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces[0].network = "blue";

  EXPECT_THAT(Fail(request).text, HasSubstr("\"blue\" is neither a subnet's UUID"));
}

TEST_F(NeutronPlanTest, PoolOfKuryrConfIsGivenByNameToNamespacesThatItLists) {
  defaults_.pools = {{"storage", {.ids = {FakeNeutron::kOtherSubnet}, .namespaces = {"team"}}},
                     {"lab", {.ids = {FakeNeutron::kSubnet4}, .namespaces = {"lab"}}},
                     {"all", {.ids = {FakeNeutron::kSubnet6}, .all_namespaces = true}}};
  Start();
  PlanRequest request = RequestOf(Pod("a"), {"net1"});
  const auto subnet_of = [&](size_t interface) {
    return neutron_.GetPort(IdOf(Reserve(request).at(interface))).fixed_ips.at(0).subnet_id;
  };

  request.interfaces[1].network = "all";
  EXPECT_EQ(subnet_of(0), FakeNeutron::kOtherSubnet) << "the namespace's own";
  EXPECT_EQ(subnet_of(1), FakeNeutron::kSubnet6);
  request.owner = Pod("b");
  request.interfaces[1].network = "lab";
  const Failure failure = Fail(request);
  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, HasSubstr("[pool:lab] namespaces in kuryr.conf does not list it"));
}

TEST_F(NeutronPlanTest, SecurityGroupsAndHostsAreKuryrConfs) {
  defaults_.security_groups = {"9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf"};
  defaults_.hosts = {{"n1", "compute-1.example"}};
  Start();

  (void)Reserve(Pod("a"));

  EXPECT_EQ(neutron_.ports().at(0).security_groups, defaults_.security_groups);
  EXPECT_EQ(neutron_.ports().at(0).host_id, "compute-1.example");
}

TEST_F(NeutronPlanTest, NetworkIsAskedForOnceForManyPods) {
  for (const char* name : {"a", "b", "c"}) (void)Reserve(Pod(name));

  EXPECT_EQ(neutron_.CountOf("GetNetwork"), 1U);
  EXPECT_EQ(neutron_.CountOf("GetSubnet"), 2U);
}

TEST_F(NeutronPlanTest, ActiveOfAllIsAskedForByOneList) {
  const Vifs a = Reserve(Pod("a"));
  const Vifs b = Reserve(Pod("b"));
  EXPECT_FALSE(backend_->Await(Pod("a"), a));
  EXPECT_FALSE(backend_->Await(Pod("b"), b));
  EXPECT_EQ(backend_->waiting(), 2U);

  neutron_.SetAllActive();

  EXPECT_TRUE(WaitUntilActive(Pod("a"), a));
  EXPECT_TRUE(WaitUntilActive(Pod("b"), b));
  EXPECT_EQ(neutron_.CountOf("GetPort"), 0U);
}

TEST_F(NeutronPlanTest, NobodyIsAskedWhileNothingWaits) {
  const Vifs vifs = Reserve(Pod("a"));
  neutron_.SetAllActive();
  ASSERT_TRUE(WaitUntilActive(Pod("a"), vifs));

  EXPECT_EQ(backend_->waiting(), 0U);
  const size_t asked = neutron_.CountOf("ActivePorts");
  EXPECT_TRUE(Release("uid-a")) << "takes longer than many turns of the poll";
  EXPECT_EQ(neutron_.CountOf("ActivePorts"), asked);
}

TEST_F(NeutronPlanTest, LaterDownIsNoReasonToBeInactive) {
  const Vifs vifs = Reserve(Pod("a"));
  neutron_.SetAllActive();
  ASSERT_TRUE(WaitUntilActive(Pod("a"), vifs));

  neutron_.SetActive(IdOf(vifs[0]), false);

  EXPECT_TRUE(backend_->Await(Pod("a"), vifs));
}

TEST_F(NeutronPlanTest, ReleaseDeletesThePorts) {
  (void)Reserve(RequestOf(Pod("a"), {"net1"}));
  (void)Reserve(Pod("b"));

  EXPECT_TRUE(Release("uid-a"));

  ASSERT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_EQ(neutron_.ports()[0].device_id, "uid-b");
  EXPECT_TRUE(backend_->Release("uid-a")) << "and once more";
}

TEST_F(NeutronPlanTest, ReleasedOwnerMayComeAgain) {
  const Vifs first = Reserve(Pod("a"));
  ASSERT_TRUE(Release("uid-a"));

  const Vifs second = Reserve(Pod("a"));

  EXPECT_NE(IdOf(first[0]), IdOf(second[0]));
  EXPECT_THAT(neutron_.ports(), SizeIs(1));
}

TEST_F(NeutronPlanTest, ReleaseOfNobodyDeletesNothing) {
  (void)Reserve(Pod("a"));

  EXPECT_TRUE(backend_->Release(""));
  EXPECT_TRUE(backend_->Release("uid-unknown"));

  EXPECT_THAT(neutron_.ports(), SizeIs(1));
}

TEST_F(NeutronPlanTest, InventoryIsOfThisClustersTags) {
  (void)Reserve(RequestOf(Pod("a"), {"net1"}));
  (void)neutron_.Add({.name = "team/x/eth0",
                      .device_id = "uid-x",
                      .device_owner = kDeviceOwner,
                      .host_id = "n9",
                      .tags = {"cluster-b"}});
  (void)neutron_.Add({.device_owner = kDeviceOwner, .tags = {"cluster-a"}});

  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("a")));

  defaults_.tags.clear();
  Start();
  EXPECT_THAT(backend_->Inventory(), IsEmpty()) << "nobody knows whose ports they are";
}

TEST_F(NeutronPlanTest, LongNamesKeepTheInterface) {
  Owner owner = Pod(std::string(253, 'p'));
  owner.scope = std::string(63, 's');

  const std::string name = PortNameOf(owner, "storage0");

  EXPECT_EQ(name.size(), 255U);
  EXPECT_EQ(PartsOfName({.name = name}).ifname, "storage0");
}

TEST_F(NeutronPlanTest, NamesOfOtherFormsSayNoInterface) {
  for (const char* name : {"", "mine", "team/web"}) {
    EXPECT_EQ(PartsOfName({.name = name}).ifname, "") << name;
    EXPECT_EQ(PartsOfName({.name = name}).scope, "") << name;
  }
}

}  // namespace
}  // namespace kuryr::controller::neutron
