#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "cni/pod/known_pod.h"
#include "cni/pod/pod_event_source.h"
#include "watcher/event_pipeline.h"

namespace kuryr::cni {

/// Bytes that the values of all plans may take, and those of a plan that is kept whatever others
/// take: a pod's usual VIFs have a few thousand.
inline constexpr size_t kMostPlanned = size_t{16} << 20;
inline constexpr size_t kUsualPlan = size_t{16} << 10;

/// The node's pods: the last known state of each, and the calls that want to hear of the next one.
/// While a call wants to hear of a pod, the pod's KuryrPort is asked for. It is asked for once more
/// when the pod says that its plan has changed (vif::kPlannedAnnotation). A call hears of both as
/// one. Thread-safe.
/// (kuryr_kubernetes/cni/daemon/service.py, the registry)
class PodRegistry : public watcher::EventConsumer {
 public:
  /// Called for NAMESPACE/NAME, from any thread.
  struct Hooks {
    std::function<void(const std::string& key)> follow;    ///< the pod's KuryrPort is wanted
    std::function<void(const std::string& key)> unfollow;  ///< as often, later
    std::function<void(const std::string& key)> changed =
        nullptr;  ///< the pod or its plan; may be null
  };

  PodRegistry(VifSource source, Hooks hooks) : source_(source), hooks_(std::move(hooks)) {}

  class Subscription {
   public:
    /// `handler` is called from a watch's thread and under the registry's lock: it must not call
    /// back.
    Subscription(PodRegistry& registry, std::string key, PodHandler& handler)
        : registry_(registry), key_(std::move(key)), handler_(handler) {
      registry_.Subscribe(*this);
    }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    /// After it the handler is not called any more.
    ~Subscription() { registry_.Unsubscribe(*this); }

   private:
    friend class PodRegistry;
    PodRegistry& registry_;
    const std::string key_;
    PodHandler& handler_;
    bool follows_ = false;  ///< the KuryrPort; guarded by the registry's lock
  };

  [[nodiscard]] static std::string KeyOf(const std::string& name_space, const std::string& name) {
    return name_space + "/" + name;
  }
  /// Pods and KuryrPorts.
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// A try to watch the pods failed: everybody hears of it.
  void OnWatchFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);
  /// A KuryrPort cannot be read or watched: those who wait for one hear of it, as of a failure that
  /// may pass. An annotation may come instead.
  void OnPortFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<PlannedPod> pods() const EXCLUDES(mutex_);
  /// The pod NAMESPACE/NAME; nullopt where it is not known.
  [[nodiscard]] std::optional<PlannedPod> Find(const std::string& key) const EXCLUDES(mutex_);
  /// As KnownPod::complete; true of a pod that is not known.
  [[nodiscard]] bool IsComplete(const std::string& key) const EXCLUDES(mutex_);
  /// Whether a pod of this UID is known, or a KuryrPort of it.
  [[nodiscard]] bool HasPod(const std::string& uid) const EXCLUDES(mutex_);
  [[nodiscard]] bool empty() const EXCLUDES(mutex_);

 private:
  void Subscribe(Subscription& subscription) EXCLUDES(mutex_);
  void Unsubscribe(Subscription& subscription) EXCLUDES(mutex_);
  void Tell(const std::string& key, const std::function<void(PodHandler&)>& what) REQUIRES(mutex_);

  /// After its plans have changed; they had `before` bytes.
  void Account(const std::string& key, KnownPod& known, size_t before) REQUIRES(mutex_);
  /// Counts the questions for KuryrPorts whose pods' plans have changed, and the answers. Returns
  /// how often the KuryrPort is to be followed from now on, which may be negative.
  [[nodiscard]] int Reread(const watcher::WatchEvent& event, const KnownPod& known, size_t mark)
      REQUIRES(mutex_);
  /// How many subscriptions begin to wait for the pod's KuryrPort.
  [[nodiscard]] unsigned BeginToFollow(const std::string& key, const KnownPod& known)
      REQUIRES(mutex_);

  const VifSource source_;
  const Hooks hooks_;
  mutable Mutex mutex_;
  std::map<std::string, KnownPod> pods_ GUARDED_BY(mutex_);
  size_t planned_bytes_ GUARDED_BY(mutex_) = 0;            ///< of all pods
  std::map<std::string, int> rereads_ GUARDED_BY(mutex_);  ///< questions without an answer yet
  std::multimap<std::string, Subscription*> subscriptions_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
