#include "controller/backends/pools/pool_backend.h"
#include "tests/controller/backends/pools/backend_fixture.h"

// Addresses outlive their owners: a claim keeps them for the next one.

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kOne =
    "[pool:blue]\ncidr = 10.1.0.0/29\nranges = 10.1.0.2\nnamespaces = *\nrest = 30\n"
    "[pool:green]\ncidr = 10.2.0.0/29\nranges = 10.2.0.2\nnamespaces = other\nbridge = br-green\n";

class LocalClaimsTest : public PoolBackendTest {
 protected:
  static Owner Claim(const std::string& name, const std::string& scope = "team") {
    return {.id = "claim-" + name, .scope = scope, .name = name};
  }
  static PlanRequest With(const Owner& claim, const Owner& owner,
                          const std::string& address = "10.1.0.2") {
    PlanRequest request = RequestOf(owner);
    request.interfaces[0].addresses = {Ip(address)};
    request.interfaces[0].claim = claim;
    return request;
  }
  Failure FailToKeep(const Owner& claim, const std::string& address) {
    return FailureOf([&] { backend_->Keep(claim, {Ip(address)}); });
  }
};

TEST_F(LocalClaimsTest, WhatIsKeptIsGivenToNobodyButWhoNamesTheClaim) {
  Start(kOne);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});

  EXPECT_EQ(Fail(RequestOf(Pod("a"))).kind, Kind::kExhausted);
  EXPECT_THAT(Fail(With(Claim("another"), Pod("a"))).text, HasSubstr("taken by team/vm"));
  const Vifs vifs = Reserve(With(Claim("vm"), Pod("a")));

  EXPECT_THAT(AddressesOf(vifs[0]), ElementsAre("10.1.0.2"));
  EXPECT_EQ(Text(Reserve(With(Claim("vm"), Pod("a")))), Text(vifs));
  EXPECT_EQ(UsageOf("blue").used, 1U);
}

TEST_F(LocalClaimsTest, AReleasedOwnersAddressIsTheClaimsAtOnceAndDoesNotRest) {
  Start(kOne);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  (void)Reserve(With(Claim("vm"), Pod("a")));
  EXPECT_THAT(Fail(With(Claim("vm"), Pod("b"))).text, HasSubstr("taken by team/a"));

  backend_->Release("uid-a");

  EXPECT_EQ(Fail(RequestOf(Pod("c"))).kind, Kind::kExhausted);
  EXPECT_THAT(AddressesOf(Reserve(With(Claim("vm"), Pod("b")))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, AClaimMayComeAfterWhatWasGiven) {
  Start(kOne);
  (void)Reserve(Pod("a"));

  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  backend_->Release("uid-a");
  Pass(seconds(60));

  EXPECT_EQ(Fail(RequestOf(Pod("b"))).kind, Kind::kExhausted);
  EXPECT_THAT(AddressesOf(Reserve(With(Claim("vm"), Pod("b")))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, AReleasedClaimsAddressIsFreeAfterItsRest) {
  Start(kOne);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});

  EXPECT_TRUE(backend_->Release("claim-vm"));

  EXPECT_EQ(UsageOf("blue").resting, 1U);
  Pass(seconds(30));
  EXPECT_THAT(AddressesOf(Reserve(Pod("a"))[0]), ElementsAre("10.1.0.2"));
  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("a")));
}

TEST_F(LocalClaimsTest, WhoHasTheAddressOutlivesTheClaim) {
  Start(kOne);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  const Vifs vifs = Reserve(With(Claim("vm"), Pod("a")));

  backend_->Release("claim-vm");

  EXPECT_EQ(Text(Reserve(With(Claim("vm"), Pod("a")))), Text(vifs));
  backend_->Release("uid-a");
  Pass(seconds(30));
  EXPECT_THAT(AddressesOf(Reserve(Pod("b"))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, AReservationThatFailsGivesTheAddressBackToTheClaim) {
  Start(kOne);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  PlanRequest request = With(Claim("vm"), Pod("a"));
  request.interfaces.push_back({.ifname = "net1", .network = "nowhere"});

  EXPECT_EQ(Fail(request).kind, Kind::kGone);

  EXPECT_EQ(Fail(RequestOf(Pod("b"))).kind, Kind::kExhausted);
  EXPECT_THAT(AddressesOf(Reserve(With(Claim("vm"), Pod("b")))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, AfterARestartWhatStandsOnPodsAndClaimsAgrees) {
  Start(kOne);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  const Vifs written = Reserve(With(Claim("vm"), Pod("a")));
  Start(kOne, 2);

  backend_->Adopt(Pod("a"), written);
  backend_->Keep(Claim("vm"), {Ip("10.1.0.2")});
  backend_->Adopt(Pod("a"), written);

  EXPECT_EQ(Text(Reserve(With(Claim("vm"), Pod("a")))), Text(written));
  backend_->Release("uid-a");
  EXPECT_THAT(AddressesOf(Reserve(With(Claim("vm"), Pod("b")))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, AClaimKeepsNothingOfAPoolThatItsScopeMayNotUse) {
  Start(kOne);

  EXPECT_EQ(FailToKeep(Claim("forged"), "10.2.0.2").kind, Kind::kRefused);

  EXPECT_THAT(backend_->Inventory(), IsEmpty());
  EXPECT_EQ(Fail(With(Claim("forged"), Pod("a"), "10.2.0.2")).kind, Kind::kRefused);
  EXPECT_THAT(AddressesOf(Reserve(RequestOf(Pod("b", "other"), "green"))[0]),
              ElementsAre("10.2.0.2"));
}

TEST_F(LocalClaimsTest, AClaimGetsNothingThatAnotherScopesOwnerHasNotEvenLater) {
  Start(kOne);
  (void)Reserve(RequestOf(Pod("theirs", "other"), "blue"));

  const Failure failure = FailToKeep(Claim("forged"), "10.1.0.2");

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, Not(HasSubstr("theirs")));
  EXPECT_EQ(Fail(With(Claim("forged"), Pod("a"))).kind, Kind::kExhausted);
  backend_->Release("uid-theirs");
  Pass(seconds(30));
  EXPECT_THAT(AddressesOf(Reserve(RequestOf(Pod("theirs", "other"), "blue"))[0]),
              ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, GatewayAndAddressesThatNoPoolGivesAreNotKept) {
  Start(kOne);

  for (const char* address : {"10.1.0.1", "10.1.0.0", "10.1.0.7", "10.1.0.3", "192.0.2.1"})
    EXPECT_EQ(FailToKeep(Claim("forged"), address).kind, Kind::kRefused) << address;
  EXPECT_EQ(FailureOf([&] { backend_->Keep(Claim("vm"), {Ip("192.0.2.1"), Ip("10.1.0.2")}); }).kind,
            Kind::kRefused);

  EXPECT_THAT(AddressesOf(Reserve(With(Claim("vm"), Pod("a")))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, OfTwoClaimsWithOneAddressTheFirstHasIt) {
  Start(kOne);
  backend_->Keep(Claim("one"), {Ip("10.1.0.2")});
  backend_->Keep(Claim("two"), {Ip("10.1.0.2")});

  EXPECT_THAT(Fail(With(Claim("two"), Pod("a"))).text, HasSubstr("taken by team/one"));
  backend_->Release("claim-one");

  EXPECT_THAT(AddressesOf(Reserve(With(Claim("two"), Pod("a")))[0]), ElementsAre("10.1.0.2"));
}

TEST_F(LocalClaimsTest, AddressOfANodesNetworkIsKeptBeforeTheNodeIsKnown) {
  Start("[pool:nodes]\nfrom_node = true\nnamespaces = *\n");
  backend_->Keep(Claim("vm"), {Ip("10.7.0.2")});
  PlanRequest other = RequestOf(Pod("a"));
  other.node_networks = {Net("10.7.0.0/30")};
  PlanRequest with = With(Claim("vm"), Pod("b"), "10.7.0.2");
  with.node_networks = other.node_networks;

  EXPECT_EQ(Fail(other).kind, Kind::kExhausted);
  EXPECT_THAT(AddressesOf(Reserve(with)[0]), ElementsAre("10.7.0.2"));
}

}  // namespace
}  // namespace kuryr::controller::pools
