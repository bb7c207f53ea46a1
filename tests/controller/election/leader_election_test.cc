#include "controller/election/leader_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/controller/election/candidate.h"
#include "tests/support/kube_api_test.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "watcher/api_client.h"
#include "watcher/dispatcher.h"
#include "watcher/watcher.h"

namespace kuryr::controller {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::Process;
using watcher::ApiClient;
using watcher::EventType;
using watcher::PatchType;

/// Watches Leases, and lets a test wait for one.
class LeaseWatch : public watcher::EventHandler {
 public:
  using Wanted = std::function<bool(const watcher::WatchEvent& event)>;

  explicit LeaseWatch(const watcher::ApiConfig& api) : watcher_(api, *this) {
    watcher_.Add(kLeases);
    watcher_.Start();
  }
  void Handle(const watcher::WatchEvent& event) override {
    const MutexLock lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  /// Waits for a wanted event. False after 30 s.
  [[nodiscard]] bool Hears(const Wanted& wanted) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, 30s, [&]() REQUIRES(mutex_) {
      return std::any_of(events_.begin(), events_.end(), wanted);
    });
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<watcher::WatchEvent> events_ GUARDED_BY(mutex_);
  watcher::Watcher watcher_;  // last: it calls Handle
};

/// Uses a real API server; no test finds the Lease of another.
class LeaderElectionTest : public test::KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (HasNoServer()) return;
    api_ = {.api_root = server_->url(),
            .ca = {.file = server_->ca_file()},
            .token = {.file = server_->token_file()}};
    admin_.emplace(api_);
    admin_->Delete(kLeases);
  }

  [[nodiscard]] json Spec() { return admin_->Get(kLease).at("spec"); }
  [[nodiscard]] Process StartProbe(const std::string& identity) {
    Process probe({.argv = {test::BinDir() + "/leader_probe", api_.api_root, api_.ca.file,
                            api_.token.file, identity}});
    probe.WaitForOutput("a candidate\n");
    return probe;
  }

  watcher::ApiConfig api_;
  std::optional<ApiClient> admin_;
};

/// When one begins to lead, no other may write. Each stops in order, so that the next one leads
/// although no Lease expires.
TEST_F(LeaderElectionTest, OneOfThreeLeadsAndTheNextAtOnceWhenItStops) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  Mutex mutex;
  std::condition_variable_any changed;
  std::vector<std::string> leaders;
  const auto on_term = [&](const Candidate& leader) {
    const MutexLock lock(mutex);
    for (const auto& candidate : candidates) {
      const bool is_leader = candidate.get() == &leader;
      EXPECT_EQ(candidate->election().MayWrite(), is_leader) << leader.election().leader();
    }
    leaders.push_back(leader.election().leader());
    changed.notify_all();
  };
  const auto wait_for = [&](size_t count) {
    const MutexLock lock(mutex);
    ASSERT_TRUE(changed.wait_for(mutex, 30s, [&] { return leaders.size() >= count; }));
  };
  {
    const MutexLock lock(mutex);
    for (const char* name : {"a", "b", "c"})
      candidates.push_back(std::make_unique<Candidate>(api_, Patient(name), on_term));
  }

  for (size_t term = 1; term <= 3; ++term) {
    wait_for(term);
    EXPECT_EQ(Spec().at("holderIdentity"), leaders.back());
    EXPECT_EQ(Spec().at("leaseTransitions"), term - 1);
    const auto leader = std::find_if(candidates.begin(), candidates.end(),
                                     [](const auto& each) { return each->election().MayWrite(); });
    (*leader)->Stop();
    const MutexLock lock(mutex);
    candidates.erase(leader);
  }

  EXPECT_EQ(Spec().at("holderIdentity"), "");
  EXPECT_THAT(leaders, ::testing::UnorderedElementsAre("a", "b", "c"));
}

TEST_F(LeaderElectionTest, ALeaderThatIsSilentIsNoneBeforeTheNextOneLeads) {
  LeaderElection silent(api_, Hasty("silent"));
  ASSERT_TRUE(silent.Acquire({}));
  EXPECT_TRUE(silent.MayWrite());
  EXPECT_EQ(Spec().at("acquireTime"), Spec().at("renewTime"));

  LeaderElection next(api_, Hasty("next"));
  ASSERT_TRUE(next.Acquire({}));

  EXPECT_TRUE(next.MayWrite());
  EXPECT_FALSE(silent.MayWrite());
  silent.HoldUntilLost({});
  silent.Release();
  EXPECT_EQ(Spec().at("holderIdentity"), "next");
}

TEST_F(LeaderElectionTest, ALeaderThatRenewsKeepsItsTimeOfAcquisition) {
  Candidate leader(api_, Hasty("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));
  const json first = Spec();
  LeaseWatch watch(api_);
  ASSERT_TRUE(watch.Hears([](const auto& event) { return event.type == EventType::kModified; }));

  const json now = Spec();

  EXPECT_EQ(now.at("acquireTime"), first.at("acquireTime"));
  EXPECT_GT(now.at("renewTime"), first.at("renewTime"));
  EXPECT_EQ(now.at("leaseTransitions"), 0);
}

TEST_F(LeaderElectionTest, AProcessThatWasPausedMayNotWriteWhenItWakes) {
  Process first = StartProbe("first");
  first.WaitForOutput("leads\n");
  first.Signal(SIGUSR1);
  first.WaitForOutput("may write\n");
  Process second = StartProbe("second");

  first.Signal(SIGSTOP);
  second.WaitForOutput("leads\n", 30s);
  first.Signal(SIGCONT);
  first.Signal(SIGUSR1);

  first.WaitForOutput("may not write\n");
  first.WaitForOutput("leads no more\n");
}

TEST_F(LeaderElectionTest, ALeaseThatIsDeletedComesBackWithItsHolder) {
  Candidate leader(api_, Patient("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));
  Candidate other(api_, Patient("other"));
  // A candidate that never saw the Lease would take the place of a deleted one at once.
  while (other.election().leader() != "leader") std::this_thread::yield();
  LeaseWatch watch(api_);
  const std::string uid = admin_->Get(kLease).at("metadata").at("uid");

  admin_->Delete(kLease);

  ASSERT_TRUE(watch.Hears([&](const auto& event) { return event.uid != uid; }));
  EXPECT_EQ(Spec().at("holderIdentity"), "leader");
  EXPECT_TRUE(leader.election().MayWrite());
  EXPECT_FALSE(other.election().MayWrite());
  EXPECT_EQ(leader.ended(), 0);
}

TEST_F(LeaderElectionTest, AChangeByAStrangerIsNoLoss) {
  Candidate leader(api_, Patient("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));

  // Each patch makes a renewal fail with 409.
  for (int i = 0; i < 50; ++i) {
    admin_->Patch(kLease, PatchType::kMerge,
                  {{"metadata", {{"annotations", {{"round", std::to_string(i)}}}}}});
  }

  EXPECT_TRUE(leader.election().MayWrite());
  EXPECT_EQ(leader.election().problem(), std::nullopt);
  leader.Stop();
  EXPECT_EQ(leader.ended(), 1);
}

TEST_F(LeaderElectionTest, ALeaseThatNamesAnotherIsLostAtOnce) {
  Candidate leader(api_, Patient("leader"));
  ASSERT_TRUE(leader.BeginsTerm(1));

  admin_->Patch(kLease, PatchType::kMerge, {{"spec", {{"holderIdentity", "thief"}}}});

  EXPECT_TRUE(leader.EndsTerm(1));
  EXPECT_FALSE(leader.election().MayWrite());
  EXPECT_EQ(leader.election().leader(), "thief");
}

/// Leases with fields that the API server accepts, whoever wrote them.
TEST_F(LeaderElectionTest, ALeaseWithOddFieldsIsTaken) {
  const std::vector<std::string> specs = {
      R"({})", R"({"holderIdentity": ""})", R"({"leaseTransitions": 2147483647})",
      R"({"holderIdentity": "gone", "leaseDurationSeconds": 2147483647, "leaseTransitions": 2147483647})",
      R"({"holderIdentity": "\n\u0000\u001b[31m", "renewTime": "9999-01-01T00:00:00.000000Z"})"};
  for (const std::string& spec : specs) {
    admin_->Post(kLeases, LeaseWith(json::parse(spec)));
    LeaderElection election(api_, Hasty("taker"));

    EXPECT_TRUE(election.Acquire({})) << spec;

    EXPECT_EQ(Spec().at("holderIdentity"), "taker") << spec;
    admin_->Delete(kLease);
  }
}

}  // namespace
}  // namespace kuryr::controller
