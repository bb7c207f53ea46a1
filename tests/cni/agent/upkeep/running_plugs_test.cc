// Every call of a hot plug fails in turn, or is the last one before its process is killed.
#include "cni/agent/upkeep/running_plugs.h"

#include <gmock/gmock.h>

#include <exception>
#include <set>
#include <string>

#include "tests/cni/agent/upkeep/running_pod_fixture.h"
#include "tests/support/call_fault.h"
#include "tests/support/environment.h"

namespace kuryr::cni {
namespace {

using test::CallFault;
using ::testing::Values;

class RunningPlugsTest : public RunningPodTest,
                         public ::testing::WithParamInterface<CallFault::Kind> {
 protected:
  void SetUp() override {
    RunningPodTest::SetUp();
    added_ = {
        .vif = {.ifname = "net1", .is_default = false, .vif = test::OvsVif(binding::kFirstPod + 1)},
        .planned = {}};
    added_.planned = binding_->Plan(added_.vif);
    // libopenvswitch initialises itself once in a process.
    Locked([&](RunningPlugs& plugs) {
      plugs.Plug(added_);
      plugs.Unplug("net1");
    });
    before_ = PodState();
  }
  template <typename Act>
  void Locked(const Act& act) {
    const NodeContext node = Node();
    auto locked = store_->TryTake(key());
    RunningPlugs plugs(node, *locked, first_->netns, binding::Soon());
    act(plugs);
  }
  /// Has `act` meet the fault. Returns whether as many calls were made.
  template <typename Act>
  bool FailedAt(int number, const Act& act) {
    if (GetParam() == CallFault::Kind::kKilled) {
      const bool is_killed = IsKilledAt(number, [&] { Locked(act); });
      if (is_killed) failure_ = "killed";
      return is_killed;
    }
    Renew();
    CallFault fault(GetParam(), number);
    try {
      Locked(act);
    } catch (const std::exception& e) {
      failure_ = e.what();
    }
    return fault.reached();
  }
  static vif::PodVif WithAnotherAddress(vif::PodVif vif) {
    vif::Subnet& subnet = vif::Common(vif.vif).network->subnets->objects->front();
    subnet.ips->objects->front().address = IpAddress::Parse("10.1.0.77").value();
    return vif;
  }
  [[nodiscard]] std::set<std::string> PodState() const { return State({&first_->netns}); }
  [[nodiscard]] size_t CountVifs() const { return store_->Find(key())->vifs.size(); }

  PlanChange::Added added_;
  std::set<std::string> before_;
  std::string failure_;
};

TEST_P(RunningPlugsTest, FailedPlugIsUndoneOrFinishedByTheNextTry) {
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 8);
  for (int number = 1;; number += step) {
    failure_.clear();
    const bool reached = FailedAt(number, [&](RunningPlugs& plugs) { plugs.Plug(added_); });
    SCOPED_TRACE("call " + std::to_string(number) + ": " + failure_);

    Locked([](RunningPlugs& plugs) { plugs.DropInterrupted(); });
    if (CountVifs() == 1) {
      EXPECT_EQ(PodState(), before_);
      Locked([&](RunningPlugs& plugs) { plugs.Plug(added_); });
    }
    Locked([](RunningPlugs& plugs) { plugs.Unplug("net1"); });

    ASSERT_EQ(PodState(), before_);
    if (!reached) break;
  }
}

TEST_P(RunningPlugsTest, FailedUnplugIsFinishedByTheNextTry) {
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 8);
  for (int number = 1;; number += step) {
    failure_.clear();
    Locked([&](RunningPlugs& plugs) { plugs.Plug(added_); });
    const bool reached = FailedAt(number, [](RunningPlugs& plugs) { plugs.Unplug("net1"); });
    SCOPED_TRACE("call " + std::to_string(number) + ": " + failure_);

    Locked([](RunningPlugs& plugs) { plugs.DropInterrupted(); });
    if (CountVifs() == 2) Locked([](RunningPlugs& plugs) { plugs.Unplug("net1"); });

    ASSERT_EQ(PodState(), before_);
    if (!reached) break;
  }
}

TEST_P(RunningPlugsTest, FailedChangeIsFinishedByTheNextTry) {
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 8);
  const vif::PodVif first = store_->Find(key())->vifs.front();
  const vif::PodVif other = WithAnotherAddress(first);
  const auto change_to = [&](const vif::PodVif& wanted) {
    return PlanChange::Changed{.index = 0,
                               .vif = wanted,
                               .before = binding_->Plan(store_->Find(key())->vifs.front()),
                               .after = binding_->Plan(wanted)};
  };
  for (int number = 1;; number += step) {
    failure_.clear();
    const PlanChange::Changed changed = change_to(other);
    const bool reached = FailedAt(number, [&](RunningPlugs& plugs) { plugs.Change(changed); });
    SCOPED_TRACE("call " + std::to_string(number) + ": " + failure_);

    Locked([&](RunningPlugs& plugs) { plugs.Change(changed); });
    EXPECT_EQ(store_->Find(key())->vifs.front(), other);
    const PlanChange::Changed back = change_to(first);
    Locked([&](RunningPlugs& plugs) { plugs.Change(back); });

    ASSERT_EQ(PodState(), before_);
    if (!reached) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, RunningPlugsTest,
                         Values(CallFault::Kind::kNotDone, CallFault::Kind::kAnswerLost,
                                CallFault::Kind::kKilled),
                         [](const auto& kind) {
                           switch (kind.param) {
                             case CallFault::Kind::kNotDone:
                               return "NotDone";
                             case CallFault::Kind::kAnswerLost:
                               return "AnswerLost";
                             case CallFault::Kind::kKilled:
                               return "Killed";
                           }
                           return "";
                         });

}  // namespace
}  // namespace kuryr::cni
