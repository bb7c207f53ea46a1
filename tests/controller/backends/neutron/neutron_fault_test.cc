#include "tests/controller/backends/neutron/neutron_fixture.h"

// What Neutron refuses, loses and forgets.

namespace kuryr::controller::neutron {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ErrorKind = NeutronError::Kind;

class NeutronFaultTest : public NeutronBackendTest {
 protected:
  NeutronFaultTest() {
    times_.search = milliseconds(0);
    Start();
  }
};

TEST_F(NeutronFaultTest, LostAnswerOfAPostMakesNoSecondPort) {
  neutron_.Fail("CreatePort", {.done = true});

  const Vifs vifs = ReserveAtLast(RequestOf(Pod("a")));

  ASSERT_THAT(vifs, SizeIs(1));
  EXPECT_THAT(neutron_.ports(), SizeIs(1));
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
}

TEST_F(NeutronFaultTest, LostAnswerOfABulkPostMakesNoSecondPorts) {
  neutron_.Fail("CreatePorts", {.done = true});

  EXPECT_THAT(ReserveAtLast(RequestOf(Pod("a"), {"net1"})), SizeIs(2));

  EXPECT_THAT(neutron_.ports(), SizeIs(2));
}

TEST_F(NeutronFaultTest, PortOfALostPostThatComesLateIsDeleted) {
  // The port has to come before that, on a busy machine as well.
  times_.search = milliseconds(3000);
  Start();
  neutron_.Fail("CreatePort", {});
  const Vifs vifs = ReserveAtLast(RequestOf(Pod("a")));
  Port late = neutron_.ports().at(0);

  (void)neutron_.Add({.name = late.name,
                      .network_id = late.network_id,
                      .device_id = late.device_id,
                      .device_owner = late.device_owner});

  EXPECT_TRUE(neutron_.WaitUntil(
      [&](const auto& ports) { return ports.size() == 1 && ports[0].id == IdOf(vifs[0]); }));
}

TEST_F(NeutronFaultTest, TagThatFailsLeavesOnePort) {
  neutron_.SetTagsAtCreation(false);
  for (const bool done : {false, true}) {
    neutron_.Fail("SetTags", {.done = done});
    EXPECT_THAT(ReserveAtLast(RequestOf(Pod("a"))), SizeIs(1));
    neutron_.Fail("SetTags", {.done = done});
    EXPECT_THAT(ReserveAtLast(RequestOf(Pod("b"), {"net1"})), SizeIs(2));

    ASSERT_THAT(neutron_.ports(), SizeIs(3));
    for (const Port& port : neutron_.ports()) EXPECT_EQ(port.tags, defaults_.tags);
    EXPECT_TRUE(Release("uid-a") && Release("uid-b"));
  }
}

TEST_F(NeutronFaultTest, NeutronThatDoesNotAnswerIsAskedAgain) {
  neutron_.Fail("GetSubnet", {});
  neutron_.Fail("CreatePort", {});

  const Failure failure = Fail(RequestOf(Pod("a")));

  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_TRUE(failure.retry_after);
  EXPECT_THAT(ReserveAtLast(RequestOf(Pod("a"))), SizeIs(1));
}

TEST_F(NeutronFaultTest, DelayGrowsAndNobodyIsAskedMeanwhile) {
  times_.retry_least = milliseconds(60'000);
  times_.retry_most = milliseconds(600'000);
  Start();
  neutron_.Fail("CreatePort", {.kind = ErrorKind::kBadRequest});
  const Failure first = Fail(RequestOf(Pod("a")));
  EXPECT_EQ(first.kind, Kind::kRefused);
  EXPECT_GT(first.retry_after, milliseconds(50'000));

  const Failure again = Fail(RequestOf(Pod("a")));

  EXPECT_EQ(again.text, first.text);
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  PlanRequest other = RequestOf(Pod("a"));
  other.interfaces[0].addresses = {Ip("10.10.0.9")};
  EXPECT_THAT(Reserve(other), SizeIs(1)) << "another request is tried at once";
}

TEST_F(NeutronFaultTest, ThrottledIsNotAskedBeforeItsTime) {
  neutron_.Fail("CreatePort", {.kind = ErrorKind::kThrottled, .retry_after = seconds(60)});
  const Failure failure = Fail(RequestOf(Pod("a")));
  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_GT(failure.retry_after, seconds(50));

  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("b"))));

  backend_.reset();
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U) << "nor for others";
}

TEST_F(NeutronFaultTest, FailedBindingIsTriedAgainAndNeverPublished) {
  neutron_.KillHost("n1");

  const Failure failure = Fail(RequestOf(Pod("a")));

  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_THAT(failure.text, HasSubstr("has not bound port"));
  EXPECT_THAT(failure.text, HasSubstr("\"n1\" (binding_failed)"));
  EXPECT_THAT(neutron_.ports(), SizeIs(1));
  neutron_.ReviveHost("n1");
  EXPECT_THAT(ReserveAtLast(RequestOf(Pod("a"))), SizeIs(1));
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
}

TEST_F(NeutronFaultTest, QuotaIsExhaustion) {
  neutron_.SetQuota(1);
  (void)Reserve(Pod("a"));

  const Failure failure = Fail(RequestOf(Pod("b")));

  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(failure.text,
              HasSubstr("the project has 1 ports, and its quota of Neutron allows 1"));
  EXPECT_TRUE(Release("uid-a"));
  EXPECT_THAT(ReserveAtLast(RequestOf(Pod("b"))), SizeIs(1));
}

TEST_F(NeutronFaultTest, QuotaThatNobodyTellsIsExhaustionToo) {
  neutron_.SetQuota(0);
  neutron_.Fail("GetPortQuota", {.kind = ErrorKind::kForbidden});

  const Failure failure = Fail(RequestOf(Pod("a")));

  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(failure.text, HasSubstr("as many ports as its quota of Neutron allows"));
}

TEST_F(NeutronFaultTest, QuotaIsAskedForOnceHoweverManyPodsWait) {
  neutron_.SetQuota(0);

  for (const char* name : {"a", "b", "c"})
    EXPECT_EQ(Fail(RequestOf(Pod(name))).kind, Kind::kExhausted);

  EXPECT_EQ(neutron_.CountOf("GetPortQuota"), 1U);
}

TEST_F(NeutronFaultTest, FullSubnetIsExhaustionWithItsSize) {
  defaults_.subnets = {FakeNeutron::kOtherSubnet};
  Start();
  (void)Reserve(Pod("a"));
  (void)Reserve(Pod("b"));

  const Failure failure = Fail(RequestOf(Pod("c")));

  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(failure.text, HasSubstr("storage 10.30.0.0/29 gives 2 addresses"));
}

TEST_F(NeutronFaultTest, AllOrNothing) {
  neutron_.SetSlaac();
  neutron_.SetQuota(1);

  const Failure failure = Fail(RequestOf(Pod("a"), {"net1"}));

  EXPECT_EQ(failure.kind, Kind::kExhausted);
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronFaultTest, AddressInUseIsRefused) {
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces[0].addresses = {Ip("10.10.0.9")};
  (void)Reserve(request);
  request.owner = Pod("b");

  const Failure failure = Fail(request);

  EXPECT_EQ(failure.kind, Kind::kRefused);
  EXPECT_THAT(failure.text, HasSubstr("10.10.0.9 already allocated"));
}

TEST_F(NeutronFaultTest, SubnetThatIsNotThereIsGone) {
  defaults_.subnets = {"11111111-2222-4333-8444-555555555555"};
  Start();

  EXPECT_EQ(Fail(RequestOf(Pod("a"))).kind, Kind::kGone);
}

TEST_F(NeutronFaultTest, DeletionIsTriedAgain) {
  (void)Reserve(Pod("a"));
  neutron_.Fail("DeletePort", {});
  neutron_.Fail("DeletePort", {.done = true});

  EXPECT_TRUE(Release("uid-a"));

  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronFaultTest, PollThatFailsIsTriedAgain) {
  const Vifs vifs = Reserve(Pod("a"));
  neutron_.Fail("ActivePorts", {});
  neutron_.SetAllActive();

  EXPECT_TRUE(WaitUntilActive(Pod("a"), vifs));
}

TEST_F(NeutronFaultTest, WhatIsReleasedWhileItIsMadeIsDeleted) {
  neutron_.Hold("CreatePort");
  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("a"))));
  ASSERT_TRUE(neutron_.WaitForHeld());

  EXPECT_FALSE(backend_->Release("uid-a"));
  neutron_.LetGo();

  EXPECT_TRUE(Release("uid-a"));
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 1U);
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronFaultTest, NeutronThatIsAwayForLongLosesNothingAndMakesNothingTwice) {
  constexpr int kTimes = 40;
  times_.retry_least = times_.retry_most = milliseconds(1);
  Start();
  const Vifs waiting = Reserve(Pod("waiting"));
  (void)Reserve(Pod("ended"));
  for (const char* call : {"CreatePort", "DeletePort", "ListPorts", "ActivePorts"}) {
    for (int i = 0; i < kTimes; ++i) neutron_.Fail(call, {});
  }
  neutron_.SetAllActive();

  EXPECT_FALSE(backend_->Await(Pod("waiting"), waiting));
  (void)backend_->Release("uid-ended");
  EXPECT_THAT(ReserveAtLast(RequestOf(Pod("new"))), SizeIs(1));
  EXPECT_TRUE(WaitUntilActive(Pod("waiting"), waiting));
  EXPECT_TRUE(Release("uid-ended"));

  EXPECT_THAT(neutron_.ports(), SizeIs(2));
  EXPECT_EQ(neutron_.CountOf("CreatePort"), 2U + kTimes + 1U);
}

TEST_F(NeutronFaultTest, MacInUseIsRefused) {
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces[0].mac = MacAddress::Parse("0a:58:0a:0a:00:4d");
  neutron_.Fail("CreatePort", {.kind = ErrorKind::kConflict});

  EXPECT_EQ(Fail(request).kind, Kind::kRefused);
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

TEST_F(NeutronFaultTest, WhoLeadsNoMoreAsksNothing) {
  may_write_ = false;

  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("a"))));
  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("a"))));

  backend_.reset();
  EXPECT_THAT(neutron_.ports(), IsEmpty());
  EXPECT_EQ(neutron_.CountOf("GetSubnet"), 0U);
}

TEST_F(NeutronFaultTest, ManyPodsAtOnceWithFaults) {
  constexpr int kPods = 60;
  for (int i = 0; i < 20; ++i) neutron_.Fail("CreatePort", {.done = i % 2 == 0});
  for (int i = 0; i < 10; ++i) neutron_.Fail("DeletePort", {.done = i % 2 == 0});
  std::vector<Owner> owners;
  for (int i = 0; i < kPods; ++i) owners.push_back(Pod(std::to_string(i)));
  for (const Owner& owner : owners) EXPECT_FALSE(backend_->Reserve(RequestOf(owner)));

  for (const Owner& owner : owners) EXPECT_THAT(ReserveAtLast(RequestOf(owner)), SizeIs(1));
  EXPECT_THAT(neutron_.ports(), SizeIs(kPods));

  for (const Owner& owner : owners) (void)backend_->Release(owner.id);
  for (const Owner& owner : owners) EXPECT_TRUE(Release(owner.id));
  EXPECT_THAT(neutron_.ports(), IsEmpty());
}

}  // namespace
}  // namespace kuryr::controller::neutron
