#include "binding/node/pod_filter.h"

#include <gmock/gmock.h>

#include <chrono>
#include <system_error>

#include "base/deadline.h"
#include "binding/netlink/nft_events.h"
#include "tests/binding/node/pod_filter_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(PodFilterTest, OnlyThePodWithAChainIsIsolated) {
  Receives("10.0.2.2", {});
  Apply();

  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));
  EXPECT_TRUE(Reaches(*one_, "fd00:2::2")) << "this address has no chain";
  EXPECT_TRUE(Reaches(*two_, "10.0.1.2")) << "replies pass";
  EXPECT_TRUE(Reaches(Netns::Current(), "10.0.2.2")) << "the node itself";
}

TEST_F(PodFilterTest, PeersOfASetPassOnTheirPorts) {
  sets_["app=one"] = {Ip("10.0.1.2"), Ip("fd00:1::2")};
  for (const char* address : {"10.0.2.2", "fd00:2::2"}) {
    FilterRule rule = From("app=one", Ip(address).family);
    rule.protocol = FilterRule::Protocol::kTcp;
    rule.ports = {{kPort, kPort}, {9000, 9010}};
    Receives(address, {rule});
  }
  Apply();

  for (const char* address : {"10.0.2.2", "fd00:2::2"}) {
    EXPECT_TRUE(Reaches(*one_, address));
    EXPECT_TRUE(Reaches(*one_, address, 9010));
    EXPECT_TRUE(IsCut(*one_, address, 9011));
  }
}

TEST_F(PodFilterTest, AddressThatJoinsOrLeavesASetChangesNothingElse) {
  sets_["app=one"] = {};
  Receives("10.0.2.2", {From("app=one")});
  Apply();
  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));

  sets_["app=one"] = {Ip("10.0.1.2")};
  Apply({"app=one"});

  EXPECT_TRUE(Reaches(*one_, "10.0.2.2"));
  sets_["app=one"] = {};
  Apply({"app=one"});
  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));
}

TEST_F(PodFilterTest, BlocksAndTheNodeAsAReceiver) {
  FilterRule block = {.family = IpFamily::kIpv4, .verdict = kAccept};
  const std::vector<IpNetwork> networks = {IpNetwork::Parse("10.0.2.0/24").value()};
  block.blocks = IntervalsOf(networks, IpFamily::kIpv4);
  Sends("10.0.1.2", {block});
  Sends("fd00:1::2", {});
  Apply();

  EXPECT_TRUE(Reaches(*one_, "10.0.2.2"));
  EXPECT_TRUE(IsCut(*one_, "10.0.1.1")) << "the node is no peer";
  EXPECT_TRUE(IsCut(*one_, "fd00:2::2"));
  EXPECT_TRUE(Reaches(*two_, "fd00:1::2")) << "the replies, and the neighbour's address";
}

TEST_F(PodFilterTest, ConnectionThatAChangeForbidsEndsWithItsNextPacket) {
  Receives("10.0.2.2", {{.verdict = kAccept}});
  Apply();
  auto ping = [&] {
    const NetnsGuard guard(*one_);
    return test::RunProgram({.argv = {"ping", "-c", "1", "-W", "1", "-e", "7", "10.0.2.2"}}).status;
  };
  ASSERT_EQ(ping(), 0);

  wanted_ = {};
  Receives("10.0.2.2", {});
  Apply();

  EXPECT_NE(ping(), 0) << "conntrack knows the identifier";
}

TEST_F(PodFilterTest, PodReachesItselfBehindATranslation) {
  RunOnHost(
      {"nft",
       "add table ip svc; add chain ip svc pre { type nat hook prerouting priority dstnat; }; "
       "add rule ip svc pre ip daddr 10.96.0.1 dnat to 10.0.1.2; "
       "add chain ip svc post { type nat hook postrouting priority srcnat; }; "
       "add rule ip svc post ip saddr 10.0.1.2 ip daddr 10.0.1.2 masquerade"});
  Sends("10.0.1.2", {});
  Receives("10.0.1.2", {});
  Apply();

  EXPECT_TRUE(Reaches(*one_, "10.96.0.1"));
}

TEST_F(PodFilterTest, NothingIsLeftOfWhatNoPodNeeds) {
  sets_["a"] = {Ip("10.0.1.2")};
  Receives("10.0.2.2", {From("a")});
  Apply();
  wanted_ = {};
  sets_["b"] = {};
  Receives("10.0.2.2", {From("b")});
  Apply();
  EXPECT_THAT(Listed(), Not(HasSubstr("10.0.1.2")));
  EXPECT_EQ(wanted_.chains.size(), 1U);

  wanted_ = {};
  Apply();

  EXPECT_THAT(RunOnHost({"nft", "list", "ruleset"}), Not(HasSubstr(kPolicyTable)));
}

TEST_F(PodFilterTest, ItsOwnChangesAreNoEventsAndThoseOfOthersAre) {
  NftEvents events(kPolicyTable, [this] { return filter_.port(); });
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  EXPECT_TRUE(events.Next(deadline)) << "nobody knows what was before";
  Receives("10.0.2.2", {});

  Apply();

  EXPECT_FALSE(events.Next(deadline));
  RunOnHost({"nft", "add chain inet kuryr-policy another"});
  while (!events.Next(deadline)) {
  }
}

TEST_F(PodFilterTest, ChangeAfterARefusedOneIsAnswered) {
  // The kernel answers each of these rules, and the first answer is enough.
  for (const char* none : {"none", "neither"})
    Sends("10.0.1.2", {{.verdict = FilterRule::Verdict::kJump, .jump = none}});
  EXPECT_THROW(Apply(), std::system_error);
  wanted_ = {};
  Receives("10.0.2.2", {});

  Apply();

  EXPECT_TRUE(IsCut(*one_, "10.0.2.2"));
}

TEST_F(PodFilterTest, WhatAnotherProcessLeftIsReplacedAndALossIsSeen) {
  Receives("10.0.2.2", {});
  Apply();
  EXPECT_TRUE(filter_.IsThere());
  PodFilter next;
  wanted_ = {};
  Receives("10.0.1.2", {});
  next.Apply(wanted_, [this](const std::string& set) { return sets_[set]; }, {});
  EXPECT_TRUE(Reaches(*one_, "10.0.2.2"));
  EXPECT_TRUE(IsCut(*two_, "10.0.1.2"));
  EXPECT_FALSE(filter_.IsThere());

  RunOnHost({"nft", "flush", "ruleset"});
  EXPECT_FALSE(next.IsThere());
  next.Distrust();
  next.Apply(wanted_, [this](const std::string& set) { return sets_[set]; }, {});

  EXPECT_TRUE(IsCut(*two_, "10.0.1.2"));
  EXPECT_TRUE(next.IsThere());
}

}  // namespace
}  // namespace kuryr::binding
