#include "controller/backends/pools/pool_backend.h"
#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kBlueOfBoth = "[pool:blue]\ncidr = 10.1.0.0/24, fd00::/64\ndefault = true\n";

class LocalAdoptTest : public PoolBackendTest {
 protected:
  /// The plan of a controller with this kuryr.conf, as read from the object afterwards.
  static Vifs Written(const std::string& text, const PlanRequest& request) {
    const Vifs planned = PoolBackend(ReadPoolsOf(text), 1).Reserve(request).value();
    return vif::DecodeAnnotation(vif::EncodeAnnotation(planned));
  }
  /// Another producer's VIF.
  static vif::PodVif Foreign(const std::string& address, const std::string& mac) {
    vif::Subnet subnet;
    subnet.cidr = Net("10.1.0.0/16");
    subnet.ips = vif::FixedIpList{.objects = std::vector<vif::FixedIp>{{.address = Ip(address)}}};
    vif::VifOpenVSwitch vif;
    vif.id = "450e5c61-dc7c-5f0d-84da-bc7052e8b541";
    vif.address = *MacAddress::Parse(mac);
    vif.network.emplace();
    vif.network->id = "f5703a6c-299d-5e80-a783-7c45b151f528";
    vif.network->subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>{subnet}};
    return {.ifname = "eth0", .is_default = true, .vif = vif};
  }
  static PlanRequest Fixed(const Owner& owner, const std::string& address) {
    PlanRequest request = RequestOf(owner);
    request.interfaces[0].addresses = {Ip(address)};
    return request;
  }
  static PlanRequest Anew(const Owner& owner) {
    PlanRequest request = RequestOf(owner);
    request.anew = true;
    return request;
  }
  /// Plans of pods a and b have 10.1.0.3. A backend with these pools adopts both; it refuses b's.
  void AdoptTwo() { AdoptTwo(kThree, Fixed(Pod("b"), "10.1.0.3")); }
  void AdoptTwo(const char* pools, const PlanRequest& request) {
    one_ = Written(pools, Fixed(Pod("a"), "10.1.0.3"));
    two_ = Written(pools, request);
    Start(pools);
    backend_->Adopt(Pod("a"), one_);
    (void)FailToAdopt(request.owner, two_);
  }

  Vifs one_;
  Vifs two_;
};

TEST_F(LocalAdoptTest, AfterARestartReserveGivesWhatIsWritten) {
  const Vifs written = Written(kThree, RequestOf(Pod("a")));
  Start(kThree, 2);

  backend_->Adopt(Pod("a"), written);
  backend_->Adopt(Pod("a"), written);

  EXPECT_EQ(Text(Reserve(Pod("a"))), Text(written));
  EXPECT_EQ(UsageOf("blue").used, 1U);
  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("a")));
}

TEST_F(LocalAdoptTest, WhatWasAdoptedIsGivenToNobodyElse) {
  const auto taken = AddressesOf(Written(kThree, Fixed(Pod("a"), "10.1.0.3")).at(0));
  Start(kThree);
  backend_->Adopt(Pod("a"), Written(kThree, Fixed(Pod("a"), "10.1.0.3")));

  (void)Reserve(Pod("b"));
  (void)Reserve(Pod("c"));

  EXPECT_EQ(Fail(RequestOf(Pod("d"))).kind, Kind::kExhausted);
  EXPECT_THAT(Fail(Fixed(Pod("d"), "10.1.0.3")).text, HasSubstr("team/a"));
}

TEST_F(LocalAdoptTest, OwnsTellsOurVifsFromOthersAndKnowsNoPools) {
  const Vifs written = Written(kThree, RequestOf(Pod("a")));
  Start("[pool:pink]\ncidr = 10.9.0.0/24\n");

  EXPECT_TRUE(backend_->Owns(Pod("a"), written[0]));
  EXPECT_FALSE(backend_->Owns(Pod("b"), written[0]));
  vif::PodVif renamed = written[0];
  renamed.ifname = "eth1";
  EXPECT_FALSE(backend_->Owns(Pod("a"), renamed));
  EXPECT_FALSE(backend_->Owns(Pod("a"), Foreign("10.1.0.3", "52:54:00:00:00:01")));
  vif::PodVif nameless = written[0];
  vif::Common(nameless.vif).id.reset();
  EXPECT_FALSE(backend_->Owns(Pod("a"), nameless));
}

TEST_F(LocalAdoptTest, TwoWithOneAddressAreAConflictThatNamesNoOtherNamespacesPod) {
  const Vifs one = Written(kThree, Fixed(Pod("a"), "10.1.0.3"));
  const Vifs two = Written(kThree, Fixed(Pod("b", "other"), "10.1.0.3"));
  Start(kThree);
  backend_->Adopt(Pod("a"), one);

  const Failure failure = FailToAdopt(Pod("b", "other"), two);

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, AllOf(HasSubstr("address 10.1.0.3 of pool \"blue\""),
                                  Not(HasSubstr("team/a")), HasSubstr("other/b")));
  EXPECT_EQ(FailToAdopt(Pod("b", "other"), two).kind, Kind::kRefused);
  EXPECT_EQ(Fail(RequestOf(Pod("b", "other"))).kind, Kind::kRefused);
  EXPECT_EQ(Text(Reserve(Pod("a"))), Text(one));
  EXPECT_EQ(UsageOf("blue").used, 1U);
}

TEST_F(LocalAdoptTest, AnAddressOfTwoIsTheOthersWhenTheFirstIsReleased) {
  AdoptTwo();

  backend_->Release("uid-a");
  Pass(seconds(60));

  EXPECT_EQ(Text(Reserve(Pod("b"))), Text(two_));
  EXPECT_EQ(Fail(Fixed(Pod("c"), "10.1.0.3")).kind, Kind::kExhausted);
  backend_->Release("uid-b");
  EXPECT_EQ(UsageOf("blue").resting, 1U);
}

TEST_F(LocalAdoptTest, TheSecondOfTwoIsPlannedAnewAfterItsRelease) {
  AdoptTwo();

  backend_->Release("uid-b");

  EXPECT_NE(AddressesOf(Reserve(Pod("b")).at(0)), AddressesOf(one_[0]));
  EXPECT_EQ(Text(Reserve(Pod("a"))), Text(one_));
  backend_->Release("uid-a");
  EXPECT_EQ(UsageOf("blue").resting, 1U);
}

TEST_F(LocalAdoptTest, TheRestOfAConflictIsKept) {
  PlanRequest request = Fixed(Pod("b"), "10.1.0.3");
  request.interfaces[0].addresses.push_back(Ip("fd00::9"));

  AdoptTwo(kBlueOfBoth, request);

  EXPECT_EQ(Fail(Fixed(Pod("c"), "fd00::9")).kind, Kind::kExhausted);
}

TEST_F(LocalAdoptTest, OneOfTwoGetsAnotherAddressAndNobodyGetsTheOldOneWhileItLives) {
  AdoptTwo();
  const PlanRequest anew = Anew(Pod("b"));

  const Vifs other = Reserve(anew);

  EXPECT_NE(AddressesOf(other.at(0)), AddressesOf(two_.at(0)));
  EXPECT_EQ(Text(Reserve(anew)), Text(other));
  EXPECT_EQ(Text(Reserve(Pod("b"))), Text(other));
  backend_->Release("uid-a");
  Pass(seconds(60));
  EXPECT_EQ(Fail(Fixed(Pod("c"), "10.1.0.3")).kind, Kind::kExhausted);
  backend_->Release("uid-b");
  Pass(seconds(60));
  EXPECT_EQ(Fail(Fixed(Pod("c"), "10.1.0.3")).kind, std::nullopt);
  EXPECT_EQ(UsageOf("blue").used, 1U);
}

TEST_F(LocalAdoptTest, OfTwoFamiliesBothAreOthersAndBothAreKept) {
  PlanRequest request = Fixed(Pod("b"), "10.1.0.3");
  request.interfaces[0].addresses.push_back(Ip("fd00::9"));
  AdoptTwo(kBlueOfBoth, request);

  const auto addresses = AddressesOf(Reserve(Anew(Pod("b"))).at(0));

  EXPECT_THAT(addresses, testing::SizeIs(2));
  EXPECT_THAT(addresses, Not(testing::Contains("fd00::9")));
  EXPECT_EQ(Fail(Fixed(Pod("c"), "fd00::9")).kind, Kind::kExhausted);
}

TEST_F(LocalAdoptTest, WhatTheOwnerHasAloneOrWishesForStays) {
  Start(kThree);
  const Vifs one = Reserve(Pod("a"));
  EXPECT_EQ(Text(Reserve(Anew(Pod("a")))), Text(one));
  (void)FailToAdopt(Pod("b"), Written(kThree, Fixed(Pod("b"), AddressesOf(one[0])[0])));

  PlanRequest fixed = Fixed(Pod("b"), AddressesOf(one[0])[0]);
  fixed.anew = true;

  EXPECT_EQ(Fail(fixed).kind, Kind::kRefused);
}

TEST_F(LocalAdoptTest, WithoutAnotherAddressThePlanStaysAsItIs) {
  const char* one = "[pool:blue]\ncidr = 10.1.0.0/29\nranges = 10.1.0.2\ndefault = true\n";
  const Vifs two = Written(one, RequestOf(Pod("b")));
  Start(one);
  (void)Reserve(Pod("a"));
  (void)FailToAdopt(Pod("b"), two);
  const PlanRequest anew = Anew(Pod("b"));

  EXPECT_EQ(Fail(anew).kind, Kind::kExhausted);

  EXPECT_THAT(backend_->Rivals(Pod("b"), two), ElementsAre(Pod("a")));
  backend_->Release("uid-a");
  EXPECT_EQ(Text(Reserve(Pod("b"))), Text(two));
}

TEST_F(LocalAdoptTest, WhatStandsUntilTheOtherIsWrittenCounts) {
  AdoptTwo();
  const PlanRequest anew = Anew(Pod("b"));
  (void)Reserve(anew);

  EXPECT_EQ(FailToAdopt(Pod("b"), two_).kind, Kind::kRefused);

  Pass(seconds(60));
  const Vifs other = Reserve(anew);
  EXPECT_NE(AddressesOf(other[0]), AddressesOf(two_[0]));
  backend_->Adopt(Pod("b"), other);
  EXPECT_EQ(Text(Reserve(Pod("b"))), Text(other));
  EXPECT_EQ(UsageOf("blue").used, 2U);
}

TEST_F(LocalAdoptTest, WhatStandsBesideAPlanIsKeptBehindWhosePlanHasIt) {
  const Vifs one = Written(kThree, Fixed(Pod("a"), "10.1.0.3"));
  Start(kThree);
  backend_->Adopt(Pod("a"), one);

  backend_->KeepBeside(Pod("b"), {.there = {Ip("10.1.0.3")}});
  backend_->KeepBeside(Pod("b"), {.there = {Ip("10.1.0.3")}});

  EXPECT_THAT(backend_->Rivals(Pod("a"), one), IsEmpty());
  backend_->Release("uid-a");
  Pass(seconds(60));
  EXPECT_EQ(Fail(Fixed(Pod("c"), "10.1.0.3")).kind, Kind::kExhausted);
}

TEST_F(LocalAdoptTest, RivalsAreAllWhosePlansHaveItWhoeverCameFirst) {
  AdoptTwo();

  EXPECT_THAT(backend_->Rivals(Pod("a"), one_), ElementsAre(Pod("b")));
  EXPECT_THAT(backend_->Rivals(Pod("b"), two_), ElementsAre(Pod("a")));
  (void)Woken();
  backend_->Release("uid-a");
  EXPECT_THAT(Woken(), ElementsAre("b"));
  EXPECT_THAT(backend_->Rivals(Pod("b"), two_), IsEmpty());
}

TEST_F(LocalAdoptTest, TwoWithOneMacAreNamed) {
  PlanRequest one = Fixed(Pod("a"), "10.1.0.3");
  PlanRequest two = Fixed(Pod("b"), "10.1.0.2");
  for (PlanRequest* request : {&one, &two})
    request->interfaces[0].mac = MacAddress::Parse("52:54:00:00:00:01");
  Start(kThree);
  backend_->Adopt(Pod("a"), Written(kThree, one));

  const Failure failure = FailToAdopt(Pod("b"), Written(kThree, two));

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, AllOf(HasSubstr("MAC address 52:54:00:00:00:01"), HasSubstr("team/a"),
                                  HasSubstr("team/b")));
  EXPECT_THAT(backend_->Rivals(Pod("b"), Written(kThree, two)), ElementsAre(Pod("a")));
}

TEST_F(LocalAdoptTest, TwoWithOneVlanOnANodeAreNamed) {
  const char* vlan = "[pool:v]\ncidr = 10.1.0.0/24\nvif = vlan\nvlan_ids = 100\ndefault = true\n";
  Start(vlan);
  backend_->Adopt(Pod("a"), Written(vlan, Fixed(Pod("a"), "10.1.0.3")));

  EXPECT_THAT(FailToAdopt(Pod("b"), Written(vlan, Fixed(Pod("b"), "10.1.0.4"))).text,
              HasSubstr("VLAN 100 of pool \"v\""));
  const Owner elsewhere = Pod("c", "team", "n2");
  EXPECT_EQ(FailToAdopt(elsewhere, Written(vlan, Fixed(elsewhere, "10.1.0.5"))).kind, std::nullopt);
}

TEST_F(LocalAdoptTest, ForeignVifsInOurNetworksAreKeptFromOthers) {
  Start(kThree);
  backend_->Heed(Pod("a"), {Foreign("10.1.0.3", "52:54:00:00:00:01")});

  EXPECT_EQ(Fail(Fixed(Pod("b"), "10.1.0.3")).kind, Kind::kExhausted);
  PlanRequest request = RequestOf(Pod("b"));
  request.interfaces[0].mac = MacAddress::Parse("52:54:00:00:00:01");
  EXPECT_EQ(Fail(request).kind, Kind::kExhausted);
  EXPECT_THAT(backend_->Inventory(), ElementsAre(Pod("a")));
  backend_->Release("uid-a");
  EXPECT_EQ(UsageOf("blue").resting, 1U);
  EXPECT_EQ(MacOf(Reserve(request).at(0)), "52:54:00:00:00:01");
}

TEST_F(LocalAdoptTest, AForeignVlanInterfaceHasItsIdOnItsNode) {
  Start("[pool:v]\ncidr = 10.1.0.0/24\nvif = vlan\nvlan_ids = 100\ndefault = true\n");
  vif::VifVlanNested vif;
  vif.id = "450e5c61-dc7c-5f0d-84da-bc7052e8b541";
  vif.vlan_id = uint16_t{100};
  backend_->Heed(Pod("a"), {{.ifname = "eth0", .is_default = true, .vif = vif}});

  EXPECT_EQ(Fail(RequestOf(Pod("b"))).kind, Kind::kExhausted);
  EXPECT_EQ(Reserve(Pod("c", "team", "n2")).size(), 1U);
}

TEST_F(LocalAdoptTest, ForeignVifsElsewhereAreNotRemembered) {
  Start(kThree);

  backend_->Heed(Pod("a"), {Foreign("10.2.0.3", "52:54:00:00:00:01")});
  backend_->Heed(Pod("b"), {});

  EXPECT_THAT(backend_->Inventory(), IsEmpty());
}

TEST_F(LocalAdoptTest, AVifOfAPoolThatIsGoneIsKeptWhereItsAddressIsAnothersNow) {
  const Vifs written = Written(kThree, Fixed(Pod("a"), "10.1.0.3"));
  Start("[pool:pink]\ncidr = 10.1.0.0/24\ndefault = true\n");

  backend_->Adopt(Pod("a"), written);

  EXPECT_EQ(Fail(Fixed(Pod("b"), "10.1.0.3")).kind, Kind::kExhausted);
  EXPECT_EQ(UsageOf("pink").used, 1U);
}

TEST_F(LocalAdoptTest, AVifOfItsPoolTakesNothingOfAnotherWithTheSameNetwork) {
  const std::string both = std::string(kThree) + "[pool:azure]\nbridge = b\ncidr = 10.1.0.0/29\n";
  const Vifs written = Written(both, RequestOf(Pod("a")));
  Start(both);

  backend_->Adopt(Pod("a"), written);

  EXPECT_EQ(UsageOf("blue").used, 1U);
  EXPECT_EQ(UsageOf("azure").used, 0U);
}

TEST_F(LocalAdoptTest, ACopyOfAnothersVifIsNotThePodsOwnPlan) {
  const Vifs written = Written(kThree, RequestOf(Pod("a")));
  Start(kThree);

  backend_->Adopt(Pod("b"), written);

  EXPECT_NE(AddressesOf(Reserve(Pod("b")).at(0)), AddressesOf(written[0]));
}

TEST_F(LocalAdoptTest, WhatWasReservedAndNotWrittenIsReleased) {
  Start(kThree);
  (void)Reserve(Fixed(Pod("a"), "10.1.0.2"));

  backend_->Adopt(Pod("a"), Written(kThree, Fixed(Pod("a"), "10.1.0.3")));

  EXPECT_THAT(AddressesOf(Reserve(Pod("a")).at(0)), ElementsAre("10.1.0.3"));
  EXPECT_EQ(Fail(Fixed(Pod("b"), "10.1.0.2")).kind, Kind::kRetry);
  EXPECT_EQ(UsageOf("blue").used, 1U);
}

TEST_F(LocalAdoptTest, ARestingAddressThatIsWrittenIsTakenAtOnce) {
  Start(kThree);
  (void)Reserve(Fixed(Pod("a"), "10.1.0.2"));
  backend_->Release("uid-a");

  backend_->Adopt(Pod("b"), Written(kThree, Fixed(Pod("b"), "10.1.0.2")));
  Pass(seconds(60));

  EXPECT_EQ(Fail(Fixed(Pod("c"), "10.1.0.2")).kind, Kind::kExhausted);
}

TEST_F(LocalAdoptTest, AddressesOfNodesAreKeptBeforeTheirNetworkIsKnown) {
  const char* text = "[pool:pods]\nfrom_node = true\ndefault = true\n";
  PlanRequest request = RequestOf(Pod("a"));
  request.node_networks = {Net("10.244.1.0/30")};
  const Vifs written = Written(text, request);
  Start(text);
  backend_->Adopt(Pod("a"), written);

  request.owner = Pod("b");

  EXPECT_EQ(Fail(request).kind, Kind::kExhausted);
  request.owner = Pod("a");
  EXPECT_EQ(Text(Reserve(request)), Text(written));
}

}  // namespace
}  // namespace kuryr::controller::pools
