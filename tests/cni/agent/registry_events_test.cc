// What an ADD hears of its pod while it is busy, whoever changes the pod how often.
#include "cni/agent/registry_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace kuryr::cni {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using watcher::EventType;
using watcher::WatchEvent;

constexpr const char* kUid = "8aacc0b5-c775-485a-a8ba-f52e62e71973";
constexpr const char* kOther = "1f0e9ab2-33d7-4a8e-9f0e-0c6a2b1d4e5f";

WatchEvent PodEvent(EventType type, const std::string& uid, const std::string& annotation = "") {
  return watcher::MakeEvent(type, {{"kind", "Pod"},
                                   {"metadata",
                                    {{"namespace", "default"},
                                     {"name", "web"},
                                     {"uid", uid},
                                     {"annotations", {{"openstack.org/kuryr-vif", annotation}}}}}});
}

std::string Told(const WatchEvent& event) {
  if (event.type == EventType::kDeleted) return "end of " + event.uid;
  return event.object->at("metadata").at("annotations").value("openstack.org/kuryr-vif", "none");
}

/// Notes what it is told; is busy with an event until Release.
class BusyConsumer : public watcher::EventConsumer {
 public:
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override {
    return {};
  }
  void Handle(const WatchEvent& event) override { Note(Told(event)); }
  void Note(const std::string& what) {
    std::unique_lock lock(mutex_);
    told_.push_back(what);
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_ >= told_.size(); });
  }
  void WaitUntilTold(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.size() >= count; });
  }
  void Release(size_t count) {
    const std::lock_guard lock(mutex_);
    released_ = count;
    changed_.notify_all();
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  size_t released_ = 0;
};

class RegistryEventsTest : public ::testing::Test {
 protected:
  /// Busy with the pod's first state.
  void Start(const std::string& uid) {
    events_.Start({"default", "web", uid}, consumer_,
                  [this](const std::exception_ptr&) { consumer_.Note("failure"); });
    registry_.Handle(PodEvent(EventType::kAdded, kUid, "first"));
    consumer_.WaitUntilTold(1);
  }
  void Finish(size_t count) {
    consumer_.Release(1000);
    consumer_.WaitUntilTold(count);
    events_.Stop();
  }

  PodRegistry registry_{VifSource::kAny, [] {}};
  BusyConsumer consumer_;
  RegistryEvents events_{
      registry_, {}, {.require_ready = [] {}, .has_listed = [] { return true; }}};
};

TEST_F(RegistryEventsTest, OfManyChangesMeanwhileOnlyTheLastIsKept) {
  Start(kUid);
  for (int i = 0; i < 100; ++i)
    registry_.Handle(PodEvent(EventType::kModified, kUid, std::to_string(i)));

  Finish(2);

  EXPECT_THAT(consumer_.told(), ElementsAre("first", "99"));
}

TEST_F(RegistryEventsTest, EndOfThePodIsToldWhoeverHasItsNameLater) {
  Start(kUid);
  registry_.Handle(PodEvent(EventType::kModified, kUid, "changed"));
  registry_.Handle(PodEvent(EventType::kDeleted, kUid));
  for (int i = 0; i < 10; ++i) {
    registry_.Handle(PodEvent(EventType::kAdded, kOther, "other"));
    registry_.Handle(PodEvent(EventType::kDeleted, kOther));
  }
  registry_.Handle(PodEvent(EventType::kAdded, kOther, "last"));

  Finish(3);

  EXPECT_THAT(consumer_.told(), ElementsAre("first", std::string("end of ") + kUid, "last"));
}

TEST_F(RegistryEventsTest, FirstEndIsToldWhereTheRuntimeNamesNoUid) {
  Start("");
  registry_.Handle(PodEvent(EventType::kDeleted, kUid));
  registry_.Handle(PodEvent(EventType::kAdded, kOther, "other"));
  registry_.Handle(PodEvent(EventType::kDeleted, kOther));

  Finish(2);

  EXPECT_THAT(consumer_.told(), ElementsAre("first", std::string("end of ") + kUid));
}

TEST_F(RegistryEventsTest, OfManyFailuresOnlyTheLastIsKept) {
  Start(kUid);
  for (int i = 0; i < 100; ++i)
    registry_.OnWatchFailure(std::make_exception_ptr(std::runtime_error("refused")));

  Finish(2);

  EXPECT_THAT(consumer_.told(), ElementsAre("first", "failure"));
}

}  // namespace
}  // namespace kuryr::cni
