#include "watcher/async_handler.h"
#include "tests/watcher/resident_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

WatchEvent Event(EventType type, const std::string& name, const std::string& version,
                 const std::string& uid = "1") {
  return MakeEvent(
      type,
      {{"kind", "Pod"},
       {"metadata",
        {{"namespace", "default"}, {"name", name}, {"uid", uid}, {"resourceVersion", version}}}});
}

constexpr auto kAdded = EventType::kAdded;
constexpr auto kModified = EventType::kModified;
constexpr auto kDeleted = EventType::kDeleted;

/// Notes each call as "ADDED x 1"; holds the events of "held" until released, and finds the objects
/// in `not_ready` not ready.
class Recorder : public EventHandler {
 public:
  void Handle(const WatchEvent& event) override {
    static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED"};
    const MutexLock lock(mutex_);
    calls_.push_back(std::string(kNames[static_cast<size_t>(event.type)]) + " " + event.name + " " +
                     event.resource_version);
    changed_.notify_all();
    while (event.name == "held" && !released_) changed_.wait(mutex_);
    if (event.name == "broken") throw std::runtime_error("broken");
    if (not_ready_.contains(event.resource_version)) throw ResourceNotReady("no VIF yet");
  }
  void Release() {
    const MutexLock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  void NotReady(const std::string& version) {
    const MutexLock lock(mutex_);
    not_ready_.insert(version);
  }
  void WaitFor(size_t count) {
    const MutexLock lock(mutex_);
    while (calls_.size() < count) changed_.wait(mutex_);
  }
  std::vector<std::string> calls() {
    const MutexLock lock(mutex_);
    return calls_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> calls_ GUARDED_BY(mutex_);
  std::set<std::string> not_ready_ GUARDED_BY(mutex_);
  bool released_ GUARDED_BY(mutex_) = false;
};

class AsyncHandlerTest : public ::testing::Test {
 protected:
  Recorder recorder_;
};

TEST_F(AsyncHandlerTest, OneObjectsEventsKeepTheirOrder) {
  AsyncHandler async(recorder_);
  for (int i = 0; i < 50; ++i) {
    async.Handle(Event(kAdded, "x", std::to_string(2 * i), std::to_string(i)));
    async.Handle(Event(kDeleted, "x", std::to_string(2 * i + 1), std::to_string(i)));
  }
  async.Drain();

  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back("ADDED x " + std::to_string(2 * i));
    expected.push_back("DELETED x " + std::to_string(2 * i + 1));
  }
  EXPECT_EQ(recorder_.calls(), expected);
}

TEST_F(AsyncHandlerTest, AnObjectThatIsSlowDoesNotHoldUpAnother) {
  AsyncHandler async(recorder_, {.workers = 2});
  async.Handle(Event(kAdded, "held", "1"));
  recorder_.WaitFor(1);

  async.Handle(Event(kAdded, "x", "2"));
  recorder_.WaitFor(2);

  recorder_.Release();
  EXPECT_THAT(recorder_.calls(), ElementsAre("ADDED held 1", "ADDED x 2"));
}

TEST_F(AsyncHandlerTest, StatesThatNobodyHeardAreReplacedByTheNewest) {
  AsyncHandler async(recorder_);
  async.Handle(Event(kAdded, "held", "1"));
  recorder_.WaitFor(1);
  for (int i = 2; i <= 1000; ++i) async.Handle(Event(kModified, "held", std::to_string(i)));
  EXPECT_EQ(async.pending(), 2U);
  async.Handle(Event(kDeleted, "held", "1001"));

  recorder_.Release();
  async.Drain();

  EXPECT_THAT(recorder_.calls(),
              ElementsAre("ADDED held 1", "MODIFIED held 1000", "DELETED held 1001"));
}

TEST_F(AsyncHandlerTest, StatesThatNobodyCanTakeCostNoMemory) {
  AsyncHandler async(recorder_, {.workers = 1});
  async.Handle(Event(kAdded, "held", "1"));
  recorder_.WaitFor(1);
  async.Handle(Event(kAdded, "x", "2"));
  const WatchEvent newer = Event(kModified, "x", "3");
  const size_t before = ResidentBytes();

  for (int i = 0; i < 300'000; ++i) async.Handle(newer);

  EXPECT_LT(ResidentBytes(), before + (size_t{8} << 20));
  EXPECT_EQ(async.pending(), 2U);
  recorder_.Release();
  async.Drain();
  EXPECT_THAT(recorder_.calls(), ElementsAre("ADDED held 1", "ADDED x 3"));
}

TEST_F(AsyncHandlerTest, AnObjectThatIsNotReadyIsTriedAgainAndKeepsNoThread) {
  recorder_.NotReady("1");
  AsyncHandler async(recorder_, {.workers = 1, .retry_base = milliseconds(1)});
  async.Handle(Event(kAdded, "x", "1"));
  recorder_.WaitFor(3);

  async.Handle(Event(kAdded, "y", "2"));
  async.Handle(Event(kModified, "x", "3"));
  async.Drain();

  const auto calls = recorder_.calls();
  EXPECT_THAT(calls, ::testing::Contains("ADDED y 2"));
  EXPECT_THAT(calls, ::testing::Contains("ADDED x 3"));
  EXPECT_EQ(async.errors(), 0U);
}

TEST_F(AsyncHandlerTest, NewsEndTheWaitOfAnObjectThatIsNotReady) {
  recorder_.NotReady("1");
  AsyncHandler async(recorder_,
                     {.retry_base = std::chrono::hours(1), .retry_cap = std::chrono::hours(1)});
  async.Handle(Event(kAdded, "x", "1"));
  recorder_.WaitFor(1);

  async.Handle(Event(kDeleted, "x", "2"));
  async.Drain();

  EXPECT_EQ(recorder_.calls().back(), "DELETED x 2");
}

TEST_F(AsyncHandlerTest, AnObjectThatNeverGetsReadyIsGivenUpAndCounted) {
  recorder_.NotReady("1");
  AsyncHandler async(recorder_, {.retry_base = milliseconds(1), .give_up = milliseconds(20)});
  async.Handle(Event(kAdded, "x", "1"));

  async.Drain();

  EXPECT_EQ(async.errors(), 1U);
  EXPECT_EQ(async.pending(), 0U);
}

TEST_F(AsyncHandlerTest, WhatAHandlerThrowsIsCountedAndTheNextEventIsHandled) {
  AsyncHandler async(recorder_);
  async.Handle(Event(kAdded, "broken", "1"));
  async.Handle(Event(kDeleted, "broken", "2"));
  async.Drain();

  EXPECT_THAT(recorder_.calls(), ElementsAre("ADDED broken 1", "DELETED broken 2"));
  EXPECT_EQ(async.errors(), 2U);
}

TEST_F(AsyncHandlerTest, AFullQueueHoldsItsProducerUntilThereIsRoom) {
  AsyncHandler async(recorder_, {.workers = 1, .max_pending = 2});
  async.Handle(Event(kAdded, "held", "1"));
  recorder_.WaitFor(1);
  async.Handle(Event(kAdded, "x", "2"));

  auto producer = std::async(std::launch::async, [&] { async.Handle(Event(kAdded, "y", "3")); });
  EXPECT_EQ(producer.wait_for(milliseconds(50)), std::future_status::timeout);
  recorder_.Release();
  producer.get();
  async.Drain();

  EXPECT_THAT(recorder_.calls(), ElementsAre("ADDED held 1", "ADDED x 2", "ADDED y 3"));
}

TEST_F(AsyncHandlerTest, StopLetsAProducerGoThatWaits) {
  AsyncHandler async(recorder_, {.workers = 1, .max_pending = 1});
  async.Handle(Event(kAdded, "held", "1"));
  recorder_.WaitFor(1);
  auto producer = std::async(std::launch::async, [&] { async.Handle(Event(kAdded, "y", "3")); });

  async.RequestStop();
  producer.get();

  recorder_.Release();
  EXPECT_THAT(recorder_.calls(), ElementsAre("ADDED held 1"));
}

TEST(AsyncPipelineTest, AConsumerThatIsStuckDoesNotHoldUpAnother) {
  struct Pods : EventConsumer {
    [[nodiscard]] std::vector<std::pair<KeyFn, std::string>> Consumes() const override {
      return {{ObjectKind, "Pod"}};
    }
    void Handle(const WatchEvent& event) override { recorder.Handle(event); }
    Recorder recorder;
  };
  Pods stuck;
  Pods free;
  {
    AsyncPipeline pipeline;
    pipeline.Register(stuck);
    pipeline.Register(free);
    pipeline.Handle(Event(kAdded, "held", "1"));
    free.recorder.Release();
    pipeline.Handle(Event(kDeleted, "held", "2"));

    free.recorder.WaitFor(2);
    EXPECT_LE(stuck.recorder.calls().size(), 1U);
    stuck.recorder.Release();
    stuck.recorder.WaitFor(2);
  }
  EXPECT_THAT(stuck.recorder.calls(), ElementsAre("ADDED held 1", "DELETED held 2"));
}

}  // namespace
}  // namespace kuryr::watcher
