#include "controller/backends/tasks/owner_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/thread_annotations.h"

namespace kuryr::controller::tasks {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Task = OwnerWork::Task;
using Opened = OwnerWork::Opened;
using Kind = PlanError::Kind;

const Owner kOwner{.id = "uid-a", .scope = "team", .name = "a", .node = "n1"};

PlanRequest RequestOf(const std::string& ifname) {
  return {.owner = kOwner, .interfaces = {{.ifname = ifname}}};
}

/// Work whose tasks do what the test says, in the order in which it says it.
class OwnerWorkTest : public ::testing::Test {
 protected:
  using Act = std::function<std::optional<PlanError>()>;

  ~OwnerWorkTest() override { work_.Stop(); }

  void Script(Act act) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    acts_.push_back(std::move(act));
  }
  void Fail(const PlanError& error) {
    Script([error] { return error; });
  }
  std::optional<PlanError> Run(Task task) EXCLUDES(mutex_) {
    Act act;
    {
      const MutexLock lock(mutex_);
      tasks_.push_back(task);
      if (acts_.empty()) return std::nullopt;
      act = std::move(acts_.front());
      acts_.pop_front();
    }
    return act();
  }
  void Wake() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++wakes_;
    changed_.notify_all();
  }
  /// The tasks so far, once as many have ended.
  std::vector<Task> TasksAfter(size_t count) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(
        mutex_, 30s, [&]() KURYR_TSA(requires_capability(mutex_)) { return wakes_ >= count; }));
    return tasks_;
  }
  template <typename Act>
  auto Locked(const Act& act) {
    const MutexLock lock(work_.mutex());
    return act();
  }
  Opened Open() {
    return Locked([this]()
                      KURYR_TSA(requires_capability(work_.mutex())) { return work_.Open(kOwner); });
  }
  void Plan(const PlanRequest& request) {
    Locked([&]() KURYR_TSA(requires_capability(work_.mutex())) { work_.Plan(request); });
  }
  bool Release() {
    return Locked([this]() KURYR_TSA(requires_capability(work_.mutex())) {
      return work_.Release(kOwner.id);
    });
  }

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Act> acts_ GUARDED_BY(mutex_);
  std::vector<Task> tasks_ GUARDED_BY(mutex_);
  size_t wakes_ GUARDED_BY(mutex_) = 0;
  OwnerWork work_{{.may_write = [] { return true; },
                   .run = [this](Task task, const PlanRequest& /*request*/) { return Run(task); },
                   .wake =
                       [this](const Owner& owner) {
                         EXPECT_EQ(owner, kOwner);
                         Wake();
                       }},
                  {.retry_least = 1ms, .retry_most = 2ms},
                  2};
};

TEST_F(OwnerWorkTest, PlanRunsOnceAndWakesItsOwner) {
  EXPECT_EQ(Open(), Opened::kNew);
  EXPECT_EQ(Open(), Opened::kHeld);

  Plan(RequestOf("eth0"));

  EXPECT_THAT(TasksAfter(1), ElementsAre(Task::kPlan));
}

TEST_F(OwnerWorkTest, UnknownOwnerGetsNoTask) {
  Plan(RequestOf("eth0"));
  Locked([this]() KURYR_TSA(requires_capability(work_.mutex())) {
    work_.Verify(kOwner.id);
    work_.SearchAfter(kOwner.id, {});
  });

  EXPECT_TRUE(Release());
  work_.Stop();
  EXPECT_THAT(TasksAfter(0), ElementsAre());
}

TEST_F(OwnerWorkTest, ErrorIsRepeatedUntilItsDelayIsOver) {
  Open();
  Fail({Kind::kExhausted, "no more ports", 1h});
  Plan(RequestOf("eth0"));
  ASSERT_THAT(TasksAfter(1), ElementsAre(Task::kPlan));

  try {
    Plan(RequestOf("eth0"));
    ADD_FAILURE();
  } catch (const PlanError& e) {
    EXPECT_EQ(e.kind(), Kind::kExhausted);
    EXPECT_STREQ(e.what(), "no more ports");
    EXPECT_LE(*e.retry_after(), 120s);
    EXPECT_GT(*e.retry_after(), 2ms);
  }
}

TEST_F(OwnerWorkTest, OtherInterfacesAreNotRefusedByTheError) {
  Open();
  Fail({Kind::kRefused, "no such subnet", 1h});
  Plan(RequestOf("eth0"));
  ASSERT_THAT(TasksAfter(1), ElementsAre(Task::kPlan));

  EXPECT_NO_THROW(Plan(RequestOf("net1")));
}

TEST_F(OwnerWorkTest, WhatIsWantedDuringAPlanIsPlannedAfterIt) {
  Open();
  Script([this] {
    Plan(RequestOf("net1"));
    return std::nullopt;
  });

  Plan(RequestOf("eth0"));

  EXPECT_THAT(TasksAfter(2), ElementsAre(Task::kPlan, Task::kPlan));
}

TEST_F(OwnerWorkTest, DoubtsGoBeforePlansAndSearchesAfterThem) {
  Open();
  Locked([this]() KURYR_TSA(requires_capability(work_.mutex())) {
    work_.Plan(RequestOf("eth0"));
    work_.Verify(kOwner.id);
  });
  ASSERT_THAT(TasksAfter(2), ElementsAre(Task::kVerify, Task::kPlan));

  Locked([this]()
             KURYR_TSA(requires_capability(work_.mutex())) { work_.SearchAfter(kOwner.id, 1ms); });

  EXPECT_THAT(TasksAfter(3), ElementsAre(Task::kVerify, Task::kPlan, Task::kSearch));
}

TEST_F(OwnerWorkTest, SearchThatIsWantedWithAPlanFollowsIt) {
  Open();
  Locked([this]() KURYR_TSA(requires_capability(work_.mutex())) {
    work_.Plan(RequestOf("eth0"));
    work_.SearchAfter(kOwner.id, {});
  });

  EXPECT_THAT(TasksAfter(2), ElementsAre(Task::kPlan, Task::kSearch));
}

TEST_F(OwnerWorkTest, SearchThatFailsIsMadeAgain) {
  Open();
  Fail({Kind::kRetry, "no answer"});

  Locked([this]()
             KURYR_TSA(requires_capability(work_.mutex())) { work_.SearchAfter(kOwner.id, {}); });

  EXPECT_THAT(TasksAfter(2), ElementsAre(Task::kSearch, Task::kSearch));
}

TEST_F(OwnerWorkTest, ReleaseIsTrueOnceItsTaskHasEnded) {
  Open();
  Fail({Kind::kRetry, "no answer"});

  EXPECT_FALSE(Release());

  EXPECT_THAT(TasksAfter(2), ElementsAre(Task::kRelease, Task::kRelease));
  EXPECT_TRUE(Release());
  EXPECT_EQ(Open(), Opened::kNew);
}

TEST_F(OwnerWorkTest, OwnerThatIsReleasedStaysSoUntilTheTaskHasEnded) {
  Open();
  Script([this] {
    EXPECT_EQ(Open(), Opened::kReleasing);
    Plan(RequestOf("eth0"));
    return std::nullopt;
  });

  EXPECT_FALSE(Release());

  EXPECT_THAT(TasksAfter(1), ElementsAre(Task::kRelease));
  EXPECT_EQ(Open(), Opened::kNew);
}

TEST_F(OwnerWorkTest, TaskThatThrowsIsRepeated) {
  Open();
  Script([]() -> std::optional<PlanError> { throw std::runtime_error("broken"); });

  Plan(RequestOf("eth0"));

  EXPECT_THAT(TasksAfter(1), ElementsAre(Task::kPlan, Task::kPlan));
}

}  // namespace
}  // namespace kuryr::controller::tasks
