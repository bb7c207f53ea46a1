#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/thread_annotations.h"
#include "cni/agent/registry/pod_registry.h"
#include "cni/pod/pod_event_source.h"
#include "cni/pod/pod_question.h"

namespace kuryr::cni {

/// The events of one ADD's pod, from the node's registry. What is known already is handled in the
/// calling thread. What comes later is handled in a thread of its own, so that the watch never
/// waits for the plugging of one pod. It starts with the first such event. That thread logs as the
/// one that made the object. What was not handled yet is kept once: the newest state, the pod's
/// end, and the newest failure.
class RegistryEvents : public PodEventSource, private PodHandler {
 public:
  /// Facts that only the agent knows.
  struct Questions {
    std::function<void()> require_ready;  ///< as RequireReady
    std::function<bool()> has_listed;     ///< the registry has heard of every pod of the node
  };

  /// All is borrowed or copied.
  RegistryEvents(PodRegistry& registry, watcher::ApiConfig api, Questions questions)
      : registry_(registry), api_(std::move(api)), questions_(std::move(questions)) {}
  ~RegistryEvents() override { Stop(); }

  void Start(const PodArgs& pod, PodHandler& handler) override EXCLUDES(mutex_);
  void Stop() override EXCLUDES(mutex_);
  void RequireReady() override { questions_.require_ready(); }
  [[nodiscard]] bool IsCurrent(const PlannedPod& pod) override {
    return IsCurrentPod(api_, {pod.name_space, pod.name, pod.uid}, pod.uid);
  }
  [[nodiscard]] bool IsGone(const PodArgs& pod) override {
    return questions_.has_listed() && IsGonePod(api_, pod);
  }

 private:
  /// Events that the handlers have not heard of yet, in their order.
  struct Pending {
    std::optional<std::string> deleted;  ///< the UID of the pod that the ADD is for
    std::optional<PlannedPod> present;   ///< the newest state
    std::exception_ptr failure;          ///< the newest since then

    [[nodiscard]] bool empty() const { return !deleted && !present && !failure; }
  };

  void OnPresent(const PlannedPod& pod) override EXCLUDES(mutex_);
  void OnDeleted(const std::string& uid) override EXCLUDES(mutex_);
  void OnWatchFailure(const std::exception_ptr& failure) override EXCLUDES(mutex_);
  void Wake() REQUIRES(mutex_);
  void Tell(const Pending& pending) const;
  void Work() EXCLUDES(mutex_);
  /// Empty when it is to stop.
  [[nodiscard]] Pending Next() EXCLUDES(mutex_);

  PodRegistry& registry_;
  const watcher::ApiConfig api_;
  const Questions questions_;
  const LogContext log_context_ = LogContext::Current();
  std::string pod_uid_;  ///< empty where the runtime does not tell it
  PodHandler* handler_ = nullptr;
  std::optional<PodRegistry::Subscription> subscription_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  Pending pending_ GUARDED_BY(mutex_);
  bool starting_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::jthread worker_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
