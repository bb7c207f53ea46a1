#include "controller/backends/pools/pool_backend.h"

#include <set>

#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kDual =
    "[pool:blue]\ncidr = 10.1.0.0/24, fd00::/64\nranges = 10.1.0.0/24, fd00::2-fd00::3\ndefault = "
    "true\n";

PlanRequest Fixed(const Owner& owner, const std::vector<std::string>& addresses) {
  PlanRequest request = RequestOf(owner);
  for (const std::string& address : addresses)
    request.interfaces[0].addresses.push_back(Ip(address));
  return request;
}

PlanRequest WithMac(const Owner& owner, const std::string& mac) {
  PlanRequest request = RequestOf(owner);
  request.interfaces[0].mac = MacAddress::Parse(mac);
  return request;
}

// Choice of the pool.

constexpr const char* kChoice =
    "[pool:all]\ncidr = 10.1.0.0/24\nnamespaces = *\n"
    "[pool:db]\ncidr = 10.2.0.0/24\nnamespaces = team\npods = app=db, tier=1\n"
    "[pool:open]\ncidr = 10.3.0.0/24\npods = open=yes\n"
    "[pool:team]\ncidr = 10.4.0.0/24\nnamespaces = team\n"
    "[pool:zoo]\ncidr = 10.5.0.0/24\nnamespaces = team\n";

class LocalChoiceTest : public PoolBackendTest {
 protected:
  void SetUp() override { Start(kChoice); }
  std::string Chosen(const std::string& scope, std::map<std::string, std::string> labels = {}) {
    PlanRequest request = RequestOf(Pod("p" + std::to_string(++count_), scope));
    request.labels = std::move(labels);
    return PoolOf(Reserve(request).at(0));
  }
  int count_ = 0;
};

TEST_F(LocalChoiceTest, LabelsGoBeforeTheNamespace) {
  EXPECT_EQ(Chosen("team", {{"app", "db"}, {"tier", "1"}, {"more", "x"}}), "db");
  EXPECT_EQ(Chosen("team", {{"app", "db"}, {"tier", "2"}}), "team");
}

TEST_F(LocalChoiceTest, LabelsChooseWithinTheNamespacesOfAPool) {
  EXPECT_EQ(Chosen("other", {{"app", "db"}, {"tier", "1"}}), "all");
  EXPECT_EQ(Chosen("other", {{"open", "yes"}}), "open");
}

TEST_F(LocalChoiceTest, AListedNamespaceGoesBeforeAllAndTheFirstNameBeforeOthers) {
  EXPECT_EQ(Chosen("team"), "team");
  EXPECT_EQ(Chosen("other"), "all");
}

TEST_F(LocalChoiceTest, APoolIsNamedByWhomItIsGivenTo) {
  EXPECT_EQ(PoolOf(Reserve(RequestOf(Pod("a"), "zoo")).at(0)), "zoo");
  EXPECT_EQ(PoolOf(Reserve(RequestOf(Pod("b"), "db")).at(0)), "db");

  const Failure failure = Fail(RequestOf(Pod("c", "other"), "zoo"));

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, testing::AllOf(HasSubstr("pool \"zoo\""), HasSubstr("namespace other"),
                                           HasSubstr("[pool:zoo] namespaces")));
  EXPECT_EQ(Fail(RequestOf(Pod("c", "other"), "open")).kind, Kind::kRefused);
  EXPECT_EQ(Fail(RequestOf(Pod("c"), "pink")).kind, Kind::kGone);
}

TEST_F(PoolBackendTest, TheDefaultPoolIsForPodsThatNothingElseChooses) {
  Start(
      "[pool:a]\ncidr = 10.1.0.0/24\nnamespaces = team\n[pool:b]\ncidr = 10.2.0.0/24\ndefault = "
      "true\n");

  EXPECT_EQ(PoolOf(Reserve(Pod("x", "other")).at(0)), "b");
  EXPECT_EQ(PoolOf(Reserve(Pod("y")).at(0)), "a");
  EXPECT_EQ(PoolOf(Reserve(RequestOf(Pod("z"), "b")).at(0)), "b");
}

TEST_F(PoolBackendTest, WithoutAPoolTheMessageSaysWhatToWrite) {
  Start("[pool:a]\ncidr = 10.1.0.0/24\n");

  const Failure failure = Fail(RequestOf(Pod("x")));

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text,
              testing::AllOf(HasSubstr("namespace team"), HasSubstr("[pool:NAME] namespaces"),
                             HasSubstr("default = true")));
}

// Reserve and Release.

TEST_F(PoolBackendTest, ReserveGivesTheSameUntilRelease) {
  Start(kDual);
  const Vifs first = Reserve(Pod("a"));

  EXPECT_EQ(Reserve(Pod("a")), first);
  EXPECT_TRUE(backend_->Release("uid-a"));
  EXPECT_NE(Reserve(Pod("a")), first);
}

TEST_F(PoolBackendTest, ALaterInterfaceIsAddedToTheFormer) {
  Start(kThree);
  const Vifs first = Reserve(Pod("a"));
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces.insert(request.interfaces.begin(), {.ifname = "net1", .network = "blue"});

  const Vifs both = Reserve(request);

  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0], first[0]);
  EXPECT_EQ(both[1].ifname, "net1");
  EXPECT_NE(AddressesOf(both[1]), AddressesOf(both[0]));
}

TEST_F(PoolBackendTest, AnExhaustedPoolSaysSoAndWhenAnAddressIsSpare) {
  Start(kThree);
  for (const char* name : {"a", "b", "c"}) (void)Reserve(Pod(name));
  Failure failure = Fail(RequestOf(Pod("d")));
  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_EQ(failure.retry_after, std::nullopt);
  EXPECT_THAT(failure.text,
              HasSubstr("pool \"blue\" has no free address in 10.1.0.0/29: 3 are taken"));

  backend_->Release("uid-b");
  Pass(seconds(2));

  failure = Fail(RequestOf(Pod("d")));
  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_EQ(failure.retry_after, seconds(3));
  EXPECT_THAT(failure.text, HasSubstr("2 are taken, 1 rest"));
  Pass(seconds(3));
  EXPECT_EQ(Reserve(Pod("d")).size(), 1U);
}

TEST_F(PoolBackendTest, AnErrorLeavesNothingReserved) {
  Start(kDual);
  (void)Reserve(Pod("a"));
  (void)Reserve(Pod("b"));
  const NetworkUsage before = UsageOf("blue");

  EXPECT_EQ(Fail(RequestOf(Pod("c"))).kind, Kind::kExhausted);  // of IPv6
  PlanRequest request = Fixed(Pod("c"), {"10.1.0.9"});
  request.interfaces.push_back({.ifname = "net1", .network = "pink"});
  EXPECT_EQ(Fail(request).kind, Kind::kGone);

  EXPECT_EQ(UsageOf("blue").used, before.used);
  EXPECT_EQ(UsageOf("blue").resting, 0U);
  EXPECT_EQ(backend_->Inventory().size(), 2U);
  EXPECT_THAT(AddressesOf(Reserve(Fixed(Pod("d"), {"10.1.0.9"})).at(0)), ElementsAre("10.1.0.9"));
}

TEST_F(PoolBackendTest, ARestingAddressIsAskedForInVainUntilItsRestIsOver) {
  Start(kThree);
  for (const char* name : {"a", "b", "c"}) (void)Reserve(Pod(name));
  const auto address = AddressesOf(Reserve(Pod("b")).at(0));
  backend_->Release("uid-b");

  Failure failure = Fail(Fixed(Pod("d"), address));
  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_EQ(failure.retry_after, seconds(30));
  Pass(seconds(30));

  EXPECT_EQ(AddressesOf(Reserve(Fixed(Pod("d"), address)).at(0)), address);
}

TEST_F(PoolBackendTest, APodOfTheSameNameHasItsFixedAddressBackAtOnce) {
  Start(kThree);
  (void)Reserve(Fixed(Pod("a"), {"10.1.0.3"}));
  backend_->Release("uid-a");
  Owner again = Pod("a");
  again.id = "uid-a2";
  Owner elsewhere = Pod("a", "other");
  elsewhere.id = "uid-a3";

  EXPECT_EQ(Fail(Fixed(elsewhere, {"10.1.0.3"})).kind, Kind::kRetry);
  EXPECT_THAT(AddressesOf(Reserve(Fixed(again, {"10.1.0.3"})).at(0)), ElementsAre("10.1.0.3"));
}

TEST_F(PoolBackendTest, EachLifeBeginsElsewhere) {
  std::set<std::string> firsts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Start("[pool:blue]\ncidr = 10.0.0.0/8\ndefault = true\n", seed);
    firsts.insert(AddressesOf(Reserve(Pod("a")).at(0)).at(0));
  }
  EXPECT_EQ(firsts.size(), 20U);
  const PoolBackend one(ReadPoolsOf(kThree));
}

// Fixed addresses and MACs.

TEST_F(PoolBackendTest, FixedAddressesAreTheseAndNoOthers) {
  Start(kDual);

  EXPECT_THAT(AddressesOf(Reserve(Fixed(Pod("a"), {"10.1.0.7", "10.1.0.9"})).at(0)),
              ElementsAre("10.1.0.7", "10.1.0.9"));
  EXPECT_THAT(AddressesOf(Reserve(Fixed(Pod("b"), {"fd00::3"})).at(0)), ElementsAre("fd00::3"));
}

TEST_F(PoolBackendTest, AFixedAddressIsOneThatThePoolGives) {
  Start(kThree);

  for (const char* address :
       {"10.1.0.0", "10.1.0.1", "10.1.0.5", "10.1.0.7", "10.9.0.1", "fd00::1"}) {
    const Failure failure = Fail(Fixed(Pod("a"), {address}));
    EXPECT_EQ(failure.kind, Kind::kRefused) << address;
    EXPECT_THAT(failure.text, HasSubstr(std::string("address ") + address + " of pool \"blue\""));
  }
  EXPECT_EQ(Fail(Fixed(Pod("a"), {"10.1.0.2", "10.1.0.2"})).kind, Kind::kRefused);
  EXPECT_THAT(Fail(Fixed(Pod("a"), std::vector<std::string>(17, "10.1.0.2"))).text,
              HasSubstr("17 addresses are more than one interface may have, 16"));
}

TEST_F(PoolBackendTest, WhoHasAFixedAddressIsNamedInItsNamespaceOnly) {
  Start(kThree);
  (void)Reserve(Fixed(Pod("a"), {"10.1.0.3"}));

  const Failure same = Fail(Fixed(Pod("b"), {"10.1.0.3"}));
  const Failure other = Fail(Fixed(Pod("b", "other"), {"10.1.0.3"}));

  EXPECT_EQ(same.kind, Kind::kExhausted);
  EXPECT_THAT(same.text, HasSubstr("is taken by team/a"));
  EXPECT_EQ(other.kind, Kind::kExhausted);
  EXPECT_THAT(other.text,
              testing::AllOf(HasSubstr("is taken by another pod"), Not(HasSubstr("team"))));
}

TEST_F(PoolBackendTest, AMacFollowsFromTheAddress) {
  Start(
      "[pool:blue]\ncidr = 10.1.0.0/24\ndefault = true\n[pool:six]\nbridge = b\ncidr = "
      "fd00::/64\nnamespaces = six\n");

  EXPECT_EQ(MacOf(Reserve(Fixed(Pod("a"), {"10.1.0.3"})).at(0)), "0a:58:0a:01:00:03");
  const std::string six = MacOf(Reserve(Pod("b", "six")).at(0));
  EXPECT_TRUE(six.starts_with("0e:")) << six;
  EXPECT_NE(MacOf(Reserve(Pod("c", "six")).at(0)), six);
}

TEST_F(PoolBackendTest, AWishedMacIsNobodyElsesInThePool) {
  Start(kThree);
  EXPECT_EQ(MacOf(Reserve(WithMac(Pod("a"), "52:54:00:00:00:01")).at(0)), "52:54:00:00:00:01");

  const Failure same = Fail(WithMac(Pod("b"), "52:54:00:00:00:01"));
  EXPECT_EQ(same.kind, Kind::kExhausted);
  EXPECT_THAT(same.text, HasSubstr("taken in pool \"blue\" by team/a"));
  EXPECT_EQ(Fail(WithMac(Pod("b"), "01:00:5e:00:00:01")).kind, Kind::kRefused);
  EXPECT_EQ(Fail(WithMac(Pod("b"), "00:00:00:00:00:00")).kind, Kind::kRefused);

  backend_->Release("uid-a");
  EXPECT_EQ(MacOf(Reserve(WithMac(Pod("b"), "52:54:00:00:00:01")).at(0)), "52:54:00:00:00:01");
}

TEST_F(PoolBackendTest, AMacOfAnAddressIsItsHolders) {
  Start(kThree);
  (void)Reserve(Fixed(Pod("a"), {"10.1.0.3"}));
  EXPECT_EQ(Fail(WithMac(Pod("b"), "0a:58:0a:01:00:03")).kind, Kind::kRefused);

  for (const char* mac : {"0a:58:0a:01:00:04", "0a:58:0a:01:00:01"}) {
    PlanRequest request = Fixed(Pod("b"), {"10.1.0.2"});
    request.interfaces[0].mac = MacAddress::Parse(mac);
    const Failure failure = Fail(request);
    EXPECT_EQ(failure.kind, Kind::kRefused)
        << mac << ": of an address that is free, of the gateway";
    EXPECT_THAT(failure.text, HasSubstr("is for the interface with address 10.1.0."));
  }
}

TEST_F(PoolBackendTest, MacsOfWhatTheBackendMakesAreNoWishes) {
  Start(kThree);
  const Failure failure = Fail(WithMac(Pod("b"), "0a:58:c6:33:64:07"));

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, HasSubstr("198.51.100.7, or for a router"));
}

TEST_F(PoolBackendTest, AMacIsNobodyElsesOnTheBridgeWhateverThePool) {
  Start(
      "[pool:blue]\ncidr = 10.1.0.0/24\ndefault = true\n"
      "[pool:evil]\ncidr = 10.2.0.0/24\nnamespaces = evil\n"
      "[pool:apart]\nbridge = b\ncidr = 10.3.0.0/24\nnamespaces = apart\n");
  (void)Reserve(Fixed(Pod("a"), {"10.1.0.3"}));
  (void)Reserve(WithMac(Pod("b"), "52:54:00:00:00:01"));

  const Failure same = Fail(WithMac(Pod("c", "evil"), "52:54:00:00:00:01"));

  EXPECT_EQ(same.kind, Kind::kExhausted);
  EXPECT_THAT(same.text, HasSubstr("by another pod"));
  EXPECT_EQ(Fail(WithMac(Pod("c", "evil"), "0a:58:0a:01:00:03")).kind, Kind::kRefused);
  EXPECT_EQ(Fail(WithMac(Pod("c", "evil"), "0a:58:0a:01:00:01")).kind, Kind::kRefused);
  EXPECT_EQ(MacOf(Reserve(WithMac(Pod("d", "apart"), "52:54:00:00:00:01")).at(0)),
            "52:54:00:00:00:01");
}

TEST_F(PoolBackendTest, TwoInterfacesOfOnePodHaveTwoMacs) {
  Start(kThree);
  PlanRequest request = WithMac(Pod("a"), "52:54:00:00:00:01");
  request.interfaces.push_back(request.interfaces[0]);
  request.interfaces[1].ifname = "net1";

  const Failure failure = Fail(request);

  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(failure.text, HasSubstr("by another interface of this pod"));
  EXPECT_THAT(backend_->Inventory(), IsEmpty());
}

TEST_F(PoolBackendTest, InterfaceNamesAreOnesAndOnce) {
  Start(kThree);
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces[0].ifname = "a/b";
  EXPECT_EQ(Fail(request).kind, Kind::kRefused);
  request = RequestOf(Pod("a"));
  request.interfaces.push_back(request.interfaces[0]);
  EXPECT_EQ(Fail(request).kind, Kind::kRefused);
}

// VLAN ids.

TEST_F(PoolBackendTest, VlanIdsAreUniqueOnANodeAndRest) {
  Start("[pool:v]\ncidr = 10.1.0.0/24\nvif = vlan\nvlan_ids = 100-101\ndefault = true\n");
  const auto id = [&](const char* name, const char* node) {
    return *std::get<vif::VifVlanNested>(Reserve(Pod(name, "team", node)).at(0).vif).vlan_id;
  };

  const std::set<int> one = {id("a", "n1"), id("b", "n1")};
  const std::set<int> two = {id("c", "n2"), id("d", "n2")};

  EXPECT_THAT(one, ElementsAre(100, 101));
  EXPECT_THAT(two, ElementsAre(100, 101));
  Failure failure = Fail(RequestOf(Pod("e")));
  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(failure.text, HasSubstr("no free VLAN id on node n1"));
  EXPECT_EQ(UsageOf("v").used, 4U);
  backend_->Release("uid-a");
  EXPECT_EQ(Fail(RequestOf(Pod("e"))).retry_after, seconds(5));
  Pass(seconds(5));
  EXPECT_EQ(Reserve(Pod("e")).size(), 1U);
}

// Usage for metrics.

TEST_F(PoolBackendTest, UsageCountsByFamily) {
  Start(kDual);
  (void)Reserve(Pod("a"));
  (void)Reserve(Pod("b"));
  backend_->Release("uid-b");

  EXPECT_EQ(UsageOf("blue").limit, 253.0);
  EXPECT_EQ(UsageOf("blue").used, 1U);
  EXPECT_EQ(UsageOf("blue").resting, 1U);
  EXPECT_EQ(UsageOf("blue", IpFamily::kIpv6).limit, 2.0);
  EXPECT_EQ(UsageOf("blue", IpFamily::kIpv6).used, 1U);
  Pass(seconds(30));
  EXPECT_EQ(UsageOf("blue").resting, 0U);
}

TEST_F(PoolBackendTest, InventoryHasTheOwnersAsTheyWereTold) {
  Start(kThree);
  (void)Reserve(Pod("a"));
  (void)Reserve(Pod("b"));
  backend_->Release("uid-a");

  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("b")));
  EXPECT_TRUE(backend_->Release("uid-nobody"));
}

}  // namespace
}  // namespace kuryr::controller::pools
