#include "tests/controller/backends/pools/backend_fixture.h"

// Pods that wait for an address of an exhausted pool.

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class PoolBackendLineTest : public PoolBackendTest {
 protected:
  /// Pods a, b and c take all addresses.
  void StartExhausted(const std::string& rest) {
    Start(kThree + ("rest = " + rest + "\n"));
    for (const char* name : {"a", "b", "c"}) (void)Reserve(Pod(name));
  }
  Failure Ask(const std::string& name) { return Fail(RequestOf(Pod(name))); }
  bool Gets(const std::string& name) { return !Ask(name).kind; }
};

TEST_F(PoolBackendLineTest, FirstWhoWaitsIsWokenAndGoesFirst) {
  StartExhausted("0");
  for (const char* name : {"d", "e"}) EXPECT_EQ(Ask(name).kind, Kind::kExhausted);
  EXPECT_THAT(Woken(), IsEmpty());

  backend_->Release("uid-a");

  EXPECT_THAT(Woken(), ElementsAre("d"));
  EXPECT_EQ(Ask("e").kind, Kind::kExhausted);
  EXPECT_EQ(Ask("newcomer").kind, Kind::kExhausted);
  EXPECT_TRUE(Gets("d"));
  EXPECT_FALSE(Gets("e"));
}

TEST_F(PoolBackendLineTest, FirstWhoWaitsComesWhenAnAddressIsSpare) {
  StartExhausted("30");
  EXPECT_EQ(Ask("d").retry_after, std::nullopt);
  EXPECT_EQ(Ask("e").retry_after, std::nullopt);
  backend_->Release("uid-a");
  EXPECT_THAT(Woken(), ElementsAre("d"));
  EXPECT_EQ(Ask("d").retry_after, seconds(5));
  EXPECT_EQ(Ask("e").retry_after, std::nullopt);
  backend_->Release("uid-b");
  Pass(seconds(5));
  EXPECT_THAT(Woken(), IsEmpty());

  EXPECT_TRUE(Gets("d"));

  EXPECT_THAT(Woken(), ElementsAre("e"));
  EXPECT_TRUE(Gets("e"));
}

TEST_F(PoolBackendLineTest, PodsThatAreDeletedByForceLetNoWholePoolRest) {
  Start("[pool:blue]\ncidr = 10.1.0.0/26\ndefault = true\n");
  for (int i = 0; i < 61; ++i) {
    const Owner forced = Pod("forced" + std::to_string(i), "evil");
    (void)Reserve(forced);
    backend_->Release(forced.id);
  }
  EXPECT_EQ(Ask("victim").retry_after, seconds(5));
  Pass(seconds(5));

  EXPECT_TRUE(Gets("victim"));
}

TEST_F(PoolBackendLineTest, OfManyAsManyAreWokenAsAddressesAreFree) {
  StartExhausted("0");
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(Gets(std::to_string(i)));

  for (const char* id : {"uid-a", "uid-b", "uid-c"}) backend_->Release(id);

  EXPECT_THAT(Woken(), ElementsAre("0", "1", "2"));
  for (const char* name : {"2", "0", "1"}) EXPECT_TRUE(Gets(name));
  EXPECT_THAT(Woken(), ElementsAre("3"));
}

TEST_F(PoolBackendLineTest, WhoIsGoneOrAsksForSomethingElseLeavesTheLine) {
  StartExhausted("0");
  for (const char* name : {"d", "e", "f"}) EXPECT_FALSE(Gets(name));
  backend_->Release("uid-a");
  EXPECT_THAT(Woken(), ElementsAre("d"));

  backend_->Release("uid-d");
  EXPECT_THAT(Woken(), ElementsAre("e"));
  EXPECT_EQ(Fail(RequestOf(Pod("e"), "none")).kind, Kind::kGone);

  EXPECT_THAT(Woken(), ElementsAre("f"));
  EXPECT_TRUE(Gets("f"));
}

TEST_F(PoolBackendLineTest, WhoIsCalledAndDoesNotComeIsPassedOver) {
  StartExhausted("0");
  for (const char* name : {"d", "e"}) EXPECT_FALSE(Gets(name));
  backend_->Release("uid-a");
  EXPECT_THAT(Woken(), ElementsAre("d"));
  Pass(Line::kPatience);
  EXPECT_FALSE(Gets("e"));
  Pass(seconds(1));

  EXPECT_FALSE(Gets("e"));

  EXPECT_THAT(Woken(), ElementsAre("e"));
  EXPECT_TRUE(Gets("e"));
}

TEST_F(PoolBackendLineTest, WhoNeedsMoreThanIsFreeHoldsNobodyUp) {
  StartExhausted("0");
  PlanRequest two = RequestOf(Pod("two"));
  two.interfaces.push_back({.ifname = "net1", .network = "blue"});
  EXPECT_EQ(Fail(two).kind, Kind::kExhausted);
  EXPECT_FALSE(Gets("e"));
  backend_->Release("uid-a");
  EXPECT_THAT(Woken(), ElementsAre("two"));

  EXPECT_EQ(Fail(two).kind, Kind::kExhausted);

  EXPECT_THAT(Woken(), ElementsAre("e"));
  EXPECT_TRUE(Gets("e"));
}

TEST_F(PoolBackendLineTest, FailedRequestGivesBackWhatOthersWaitFor) {
  Start(
      "[pool:blue]\ncidr = 10.1.0.0/29\nranges = 10.1.0.2\ndefault = true\nnamespaces = *\n"
      "[pool:pink]\ncidr = 10.2.0.0/29\nranges = 10.2.0.2\nnamespaces = *\nrest = 0\n");
  PlanRequest both = RequestOf(Pod("both"));
  both.interfaces.push_back({.ifname = "net1", .network = "pink"});
  (void)Reserve(RequestOf(Pod("a"), "pink"));
  EXPECT_EQ(Fail(both).kind, Kind::kExhausted);

  EXPECT_TRUE(Gets("b"));
  EXPECT_EQ(Fail(both).kind, Kind::kExhausted);  // The pod waits for blue from now on.
  backend_->Release("uid-a");

  EXPECT_THAT(Woken(), IsEmpty());
  EXPECT_FALSE(Fail(RequestOf(Pod("c"), "pink")).kind);
}

TEST_F(PoolBackendLineTest, VlanIdsOfANodeHaveALineOfTheirOwn) {
  Start("[pool:v]\ncidr = 10.1.0.0/24\nvif = vlan\nvlan_ids = 100\ndefault = true\nrest = 0\n");
  (void)Reserve(Pod("a", "team", "n1"));
  (void)Reserve(Pod("b", "team", "n2"));
  EXPECT_TRUE(Fail(RequestOf(Pod("c", "team", "n1"))).kind);
  EXPECT_TRUE(Fail(RequestOf(Pod("d", "team", "n2"))).kind);

  backend_->Release("uid-b");

  EXPECT_THAT(Woken(), ElementsAre("d"));
}

}  // namespace
}  // namespace kuryr::controller::pools
