#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/thread_annotations.h"
#include "cni/agent/pod_registry.h"
#include "cni/pod_event_source.h"
#include "cni/pod_question.h"

namespace kuryr::cni {

/// The events of one ADD's pod, from the node's registry. What is known already is handled in the
/// calling thread, what comes later in a thread of its own, which starts with the first of it: the
/// watch never waits for the plugging of one pod. That thread logs as the one that made the object.
class RegistryEvents : public PodEventSource {
 public:
  /// What only the agent knows.
  struct Questions {
    std::function<void()> require_ready;  ///< as RequireReady
    std::function<bool()> has_listed;     ///< the registry has heard of every pod of the node
  };

  /// All is borrowed or copied.
  RegistryEvents(PodRegistry& registry, watcher::ApiConfig api, Questions questions)
      : registry_(registry), api_(std::move(api)), questions_(std::move(questions)) {}
  ~RegistryEvents() override { Stop(); }

  void Start(const PodArgs& pod, watcher::EventConsumer& consumer,
             watcher::FailureHandler on_failure) override EXCLUDES(mutex_);
  void Stop() override EXCLUDES(mutex_);
  void RequireReady() override { questions_.require_ready(); }
  [[nodiscard]] bool IsCurrent(const watcher::WatchEvent& pod) override {
    return IsCurrentPod(api_, {pod.name_space, pod.name, pod.uid}, pod.uid);
  }
  [[nodiscard]] bool IsGone(const PodArgs& pod) override {
    return questions_.has_listed() && IsGonePod(api_, pod);
  }

 private:
  using Act = std::function<void()>;

  void Post(Act act) EXCLUDES(mutex_);
  void Work() EXCLUDES(mutex_);
  [[nodiscard]] std::optional<Act> Next() EXCLUDES(mutex_);

  PodRegistry& registry_;
  const watcher::ApiConfig api_;
  const Questions questions_;
  const LogContext log_context_ = LogContext::Current();
  std::optional<PodRegistry::Subscription> subscription_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Act> acts_ GUARDED_BY(mutex_);
  bool starting_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::jthread worker_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
