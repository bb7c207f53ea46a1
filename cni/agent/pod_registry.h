#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "cni/pod/known_pod.h"
#include "watcher/event_pipeline.h"
#include "watcher/watch_loop.h"

namespace kuryr::cni {

/// What this node knows of its pods and their KuryrPorts: of each the last state that the watches
/// told, and who wants to hear of the next. Both are one to those who hear. Thread-safe.
/// (kuryr_kubernetes/cni/daemon/service.py, the registry)
class PodRegistry : public watcher::EventConsumer {
 public:
  /// on_unplanned: called for a pod without annotation that is new, or asked for, from any thread.
  PodRegistry(VifSource source, std::function<void()> on_unplanned)
      : source_(source), on_unplanned_(std::move(on_unplanned)) {}

  /// Hears of one pod. Called from a watch's thread and under the registry's lock: must not call
  /// back.
  using Listener = std::function<void(const watcher::WatchEvent& event)>;
  using FailureListener = std::function<void(const std::exception_ptr& failure)>;

  class Subscription {
   public:
    Subscription(PodRegistry& registry, std::string key, Listener listener,
                 FailureListener on_failure)
        : registry_(registry),
          key_(std::move(key)),
          listener_(std::move(listener)),
          on_failure_(std::move(on_failure)) {
      registry_.Subscribe(*this);
    }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    /// After it the listeners are not called any more.
    ~Subscription() { registry_.Unsubscribe(*this); }

   private:
    friend class PodRegistry;
    PodRegistry& registry_;
    const std::string key_;
    const Listener listener_;
    const FailureListener on_failure_;
  };

  [[nodiscard]] static std::string KeyOf(const std::string& name_space, const std::string& name) {
    return name_space + "/" + name;
  }
  /// Pods and KuryrPorts.
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// A try to watch the pods failed: everybody hears of it.
  void OnWatchFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<watcher::WatchEvent> pods() const EXCLUDES(mutex_);
  /// Whether a pod of this UID is known, or a KuryrPort of it.
  [[nodiscard]] bool HasPod(const std::string& uid) const EXCLUDES(mutex_);
  [[nodiscard]] bool empty() const EXCLUDES(mutex_);

 private:
  void Subscribe(Subscription& subscription) EXCLUDES(mutex_);
  void Unsubscribe(Subscription& subscription) EXCLUDES(mutex_);
  void Tell(const watcher::WatchEvent& event) REQUIRES(mutex_);

  const VifSource source_;
  const std::function<void()> on_unplanned_;
  mutable Mutex mutex_;
  std::map<std::string, KnownPod> pods_ GUARDED_BY(mutex_);
  std::multimap<std::string, Subscription*> subscriptions_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
