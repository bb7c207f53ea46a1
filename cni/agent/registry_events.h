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

namespace kuryr::cni {

/// The events of one ADD's pod, from the node's registry. What is known already is handled in the
/// calling thread, what comes later in a thread of its own, which starts with the first of it: the
/// watch never waits for the plugging of one pod. That thread logs as the one that made the object.
class RegistryEvents : public PodEventSource {
 public:
  using IsCurrentFn = std::function<bool(const watcher::WatchEvent& pod)>;

  /// The functions are RequireReady's and IsCurrent's. All is borrowed or copied.
  RegistryEvents(PodRegistry& registry, std::function<void()> require_ready, IsCurrentFn is_current)
      : registry_(registry),
        require_ready_(std::move(require_ready)),
        is_current_(std::move(is_current)) {}
  ~RegistryEvents() override { Stop(); }

  void Start(const PodArgs& pod, watcher::EventConsumer& consumer,
             watcher::FailureHandler on_failure) override EXCLUDES(mutex_);
  void Stop() override EXCLUDES(mutex_);
  void RequireReady() override { require_ready_(); }
  [[nodiscard]] bool IsCurrent(const watcher::WatchEvent& pod) override { return is_current_(pod); }

 private:
  using Act = std::function<void()>;

  void Post(Act act) EXCLUDES(mutex_);
  void Work() EXCLUDES(mutex_);
  [[nodiscard]] std::optional<Act> Next() EXCLUDES(mutex_);

  PodRegistry& registry_;
  const std::function<void()> require_ready_;
  const IsCurrentFn is_current_;
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
