#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "watcher/event_pipeline.h"
#include "watcher/watch_loop.h"

namespace kuryr::cni {

/// What this node knows of its pods: of each the last state that the watch told, as far as an ADD
/// needs it (names, uid, the VIF annotation), and who wants to hear of the next. Thread-safe.
/// (kuryr_kubernetes/cni/daemon/service.py, the registry)
class PodRegistry : public watcher::ResourceEventHandler {
 public:
  /// Hears of one pod. Called from the watch's thread and under the registry's lock: must not call
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

  PodRegistry() : ResourceEventHandler("Pod") {}

  [[nodiscard]] static std::string KeyOf(const std::string& name_space, const std::string& name) {
    return name_space + "/" + name;
  }
  /// A try to watch failed: everybody hears of it.
  void OnWatchFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<watcher::WatchEvent> pods() const EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  void Subscribe(Subscription& subscription) EXCLUDES(mutex_);
  void Unsubscribe(Subscription& subscription) EXCLUDES(mutex_);
  void Tell(const watcher::WatchEvent& event) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, watcher::WatchEvent> pods_ GUARDED_BY(mutex_);
  std::multimap<std::string, Subscription*> subscriptions_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
