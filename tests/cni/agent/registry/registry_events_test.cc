// What an ADD hears of its pod while it is busy, whoever changes the pod how often.
#include "cni/agent/registry/registry_events.h"

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

/// The annotation has one VIF, of interface `ifname`, which cannot be read.
WatchEvent PodEvent(EventType type, const std::string& uid, const std::string& ifname = "eth0") {
  const std::string annotation = json{{ifname, 7}}.dump();
  return watcher::MakeEvent(type, {{"kind", "Pod"},
                                   {"metadata",
                                    {{"namespace", "default"},
                                     {"name", "web"},
                                     {"uid", uid},
                                     {"annotations", {{"openstack.org/kuryr-vif", annotation}}}}}});
}

/// The interface.
std::string Told(const PlannedPod& pod) {
  const std::string path = pod.plan->problem.value().path();
  return path.substr(path.rfind('.') + 1);
}

/// Notes what it is told; is busy with an event until Release.
class BusyHandler : public PodHandler {
 public:
  void OnPresent(const PlannedPod& pod) override {
    newest_ = pod.plan.get();
    Note(Told(pod));
  }
  void OnDeleted(const std::string& uid) override { Note("end of " + uid); }
  void OnWatchFailure(const std::exception_ptr& /*failure*/) override { Note("failure"); }
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
  /// Of the plans that were told; for when nothing is told any more.
  [[nodiscard]] const PodPlan* newest() const { return newest_; }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  const PodPlan* newest_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  size_t released_ = 0;
};

class RegistryEventsTest : public ::testing::Test {
 protected:
  /// Busy with the pod's first state.
  void Start(const std::string& uid) {
    events_.Start({"default", "web", uid}, handler_);
    registry_.Handle(PodEvent(EventType::kAdded, kUid, "first"));
    handler_.WaitUntilTold(1);
  }
  void Finish(size_t count) {
    handler_.Release(1000);
    handler_.WaitUntilTold(count);
    events_.Stop();
  }

  PodRegistry registry_{
      VifSource::kAny,
      {.follow = [](const std::string&) {}, .unfollow = [](const std::string&) {}}};
  BusyHandler handler_;
  RegistryEvents events_{
      registry_, {}, {.require_ready = [] {}, .has_listed = [] { return true; }}};
};

TEST_F(RegistryEventsTest, OfManyChangesMeanwhileOnlyTheLastIsKept) {
  Start(kUid);
  for (int i = 0; i < 100; ++i)
    registry_.Handle(PodEvent(EventType::kModified, kUid, "v" + std::to_string(i)));

  Finish(2);

  EXPECT_THAT(handler_.told(), ElementsAre("first", "v99"));
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

  EXPECT_THAT(handler_.told(), ElementsAre("first", std::string("end of ") + kUid, "last"));
}

TEST_F(RegistryEventsTest, FirstEndIsToldWhereTheRuntimeNamesNoUid) {
  Start("");
  registry_.Handle(PodEvent(EventType::kDeleted, kUid));
  registry_.Handle(PodEvent(EventType::kAdded, kOther, "other"));
  registry_.Handle(PodEvent(EventType::kDeleted, kOther));

  Finish(2);

  EXPECT_THAT(handler_.told(), ElementsAre("first", std::string("end of ") + kUid));
}

TEST_F(RegistryEventsTest, WhatIsToldIsWhatTheRegistryKeeps) {
  Start(kUid);
  const auto known = registry_.pods();

  Finish(1);

  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(handler_.newest(), known[0].plan.get()) << "decoded twice";
  EXPECT_EQ(registry_.pods()[0].plan, known[0].plan) << "decoded once more to be asked for";
}

TEST_F(RegistryEventsTest, OfManyFailuresOnlyTheLastIsKept) {
  Start(kUid);
  for (int i = 0; i < 100; ++i)
    registry_.OnWatchFailure(std::make_exception_ptr(std::runtime_error("refused")));

  Finish(2);

  EXPECT_THAT(handler_.told(), ElementsAre("first", "failure"));
}

}  // namespace
}  // namespace kuryr::cni
