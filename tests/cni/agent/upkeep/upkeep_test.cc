#include "cni/agent/upkeep/upkeep.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

class FakeJob : public UpkeepJob {
 public:
  using Work = std::function<void(const Deadline& deadline)>;

  FakeJob(const char* name, bool is_parallel, std::vector<std::string> keys, Work work)
      : name_(name), is_parallel_(is_parallel), keys_(std::move(keys)), work_(std::move(work)) {}

  [[nodiscard]] const char* name() const override { return name_; }
  [[nodiscard]] bool is_parallel() const override { return is_parallel_; }
  void Begin(Upkeep& upkeep) override {
    for (const std::string& key : keys_) upkeep.AddAfter(*this, key, 0ms);
  }
  [[nodiscard]] bool Try(Upkeep& /*upkeep*/, const std::string& /*key*/,
                         const Deadline& deadline) override {
    work_(deadline);
    return true;
  }

 private:
  const char* name_;
  const bool is_parallel_;
  const std::vector<std::string> keys_;
  const Work work_;
};

/// The tries that are at work, and have been.
class Tries {
 public:
  void Begin() {
    const MutexLock lock(mutex_);
    most_ = std::max(most_, ++at_work_);
    changed_.notify_all();
  }
  void End() {
    const MutexLock lock(mutex_);
    --at_work_;
    ++ended_;
    changed_.notify_all();
  }
  void WaitUntilAtWork(int count) {
    const MutexLock lock(mutex_);
    while (most_ < count) changed_.wait(mutex_);
  }
  void WaitUntilEnded(int count) {
    const MutexLock lock(mutex_);
    while (ended_ < count) changed_.wait(mutex_);
  }
  [[nodiscard]] int most() {
    const MutexLock lock(mutex_);
    return most_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  int at_work_ GUARDED_BY(mutex_) = 0;
  int most_ GUARDED_BY(mutex_) = 0;
  int ended_ GUARDED_BY(mutex_) = 0;
};

TEST(UpkeepTest, ParallelJobTriesKeysAtOnce) {
  Tries tries;
  FakeJob job("many", true, {"a", "b", "c", "d"}, [&](const Deadline& /*deadline*/) {
    tries.Begin();
    // The last key is tried by the thread that has given the others away.
    tries.WaitUntilAtWork(4);
    tries.End();
  });

  const Upkeep upkeep({&job});

  tries.WaitUntilEnded(4);
}

TEST(UpkeepTest, OtherJobsHaveOneThread) {
  Tries tries;
  const FakeJob::Work work = [&](const Deadline& /*deadline*/) {
    tries.Begin();
    tries.End();
  };
  FakeJob one("one", false, {"a", "b", "c"}, work);
  FakeJob other("other", false, {"d", "e", "f"}, work);

  const Upkeep upkeep({&one, &other});

  tries.WaitUntilEnded(6);
  EXPECT_EQ(tries.most(), 1);
}

TEST(UpkeepTest, TwoJobsNeverTryOneKeyAtOnce) {
  Tries tries;
  const FakeJob::Work work = [&](const Deadline& /*deadline*/) {
    tries.Begin();
    tries.End();
  };
  FakeJob one("one", false, {"a"}, work);
  FakeJob many("many", true, {"a"}, work);

  const Upkeep upkeep({&one, &many});

  tries.WaitUntilEnded(2);
  EXPECT_EQ(tries.most(), 1);
}

TEST(UpkeepTest, PauseCancelsTheTryOfItsAttachment) {
  Tries tries;
  const AttachmentKey key = {"kuryr", "c1", "eth0"};
  FakeJob job("many", true, {ToString(key)}, [&](const Deadline& deadline) {
    tries.Begin();
    pollfd cancelled = {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&cancelled, 1, 60'000), 1);
    tries.End();
  });
  Upkeep upkeep({&job});
  tries.WaitUntilAtWork(1);

  const Upkeep::Pause add(upkeep, key);

  tries.WaitUntilEnded(1);
}

}  // namespace
}  // namespace kuryr::cni
