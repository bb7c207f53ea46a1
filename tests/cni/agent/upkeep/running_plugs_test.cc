// Every call of a hot plug fails in turn, or is the last one before its process is killed.
#include "cni/agent/upkeep/running_plugs.h"

#include <gmock/gmock.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cni/attachments/process.h"
#include "tests/binding/node_fixture.h"
#include "tests/support/call_fault.h"
#include "tests/support/environment.h"

namespace kuryr::cni {
namespace {

using binding::NodeTest;
using test::CallFault;
using ::testing::Values;

class NoWriter : public ApiWriter {
 public:
  void WriteLater(ApiWrite /*write*/) override {}
};

class RunningPlugsTest : public NodeTest, public ::testing::WithParamInterface<CallFault::Kind> {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    WaitForOvsdb(std::chrono::seconds(0));
    folder_ = std::filesystem::path(::testing::TempDir()) / ("plugs-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    store_.emplace(folder_);
    first_.emplace(MakePod(binding::PlugScenarios().front(), 1));
    Connect(*first_);
    Record();
    added_ = {.vif = {.ifname = "net1", .is_default = false, .vif = test::OvsVif(2)},
              .planned = {}};
    added_.planned = binding_->Plan(added_.vif);
    // libopenvswitch initialises itself once in a process.
    Locked([&](RunningPlugs& plugs) {
      plugs.Plug(added_);
      plugs.Unplug("net1");
    });
    before_ = PodState();
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    NodeTest::TearDown();
  }

  [[nodiscard]] AttachmentKey key() const {
    const binding::Attachment& attachment = first_->attachment;
    return {attachment.network, attachment.container_id, attachment.ifname};
  }
  void Record() {
    const binding::Attachment& attachment = first_->attachment;
    AttachmentRecord record{.key = key(),
                            .added = true,
                            .netns = attachment.netns,
                            .netns_id = first_->netns.id(),
                            .pod = attachment.pod,
                            .pod_uid = attachment.pod_uid,
                            .boot_id = BootId(),
                            .plugs = {first_->planned.plug},
                            .vifs = {{.ifname = "eth0", .is_default = true, .vif = first_->vif}}};
    store_->Create(key())->Write(std::move(record));
  }
  template <typename Act>
  void Locked(const Act& act) {
    const NodeContext node{
        .binding = *binding_, .attachments = *store_, .owner = {}, .writer = writer_};
    auto locked = store_->TryTake(key());
    RunningPlugs plugs(node, *locked, first_->netns, binding::Soon());
    act(plugs);
  }
  /// Whether as many calls were made.
  template <typename Act>
  bool FailedAt(int number, const Act& act) {
    Renew();
    CallFault fault(GetParam(), number);
    try {
      Locked(act);
    } catch (const std::exception& e) {
      failure_ = e.what();
    }
    return fault.reached();
  }
  [[nodiscard]] std::set<std::string> PodState() const { return State({&first_->netns}); }
  [[nodiscard]] size_t CountVifs() const { return store_->Find(key())->vifs.size(); }

  std::filesystem::path folder_;
  std::optional<AttachmentStore> store_;
  NoWriter writer_;
  std::optional<Pod> first_;
  PlanChange::Added added_;
  std::set<std::string> before_;
  std::string failure_;
};

TEST_P(RunningPlugsTest, FailedPlugIsUndoneOrFinishedByTheNextTry) {
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 4);
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
  const int step = test::FromEnvironment("KURYR_FAULT_STEP", 4);
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

INSTANTIATE_TEST_SUITE_P(Calls, RunningPlugsTest,
                         Values(CallFault::Kind::kNotDone, CallFault::Kind::kAnswerLost),
                         [](const auto& kind) {
                           return kind.param == CallFault::Kind::kNotDone ? "NotDone"
                                                                          : "AnswerLost";
                         });

}  // namespace
}  // namespace kuryr::cni
