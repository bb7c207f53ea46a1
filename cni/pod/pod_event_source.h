#pragma once

#include <exception>
#include <string>

#include "cni/pod/known_pod.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Is told of one pod's events, and of failures to watch it.
class PodHandler {
 public:
  virtual ~PodHandler() = default;

  /// The pod is there, new or changed.
  virtual void OnPresent(const PlannedPod& pod) = 0;
  /// The pod of this name that had `uid` is gone.
  virtual void OnDeleted(const std::string& uid) = 0;
  /// A try to watch has failed, for a reason as watcher::FailureHandler gets it.
  virtual void OnWatchFailure(const std::exception_ptr& failure) = 0;
};

/// The source of a pod's events for an ADD: its own watch, or the registry of the node's agent.
class PodEventSource {
 public:
  virtual ~PodEventSource() = default;

  /// Tells `handler` of the pod from now on, its present state first, from another thread. Borrows
  /// `handler` until Stop().
  virtual void Start(const PodArgs& pod, PodHandler& handler) = 0;
  /// Does not call the handler any more once it has returned.
  virtual void Stop() = 0;
  /// Whether `pod`, of which the handler was told, is the pod that has its name now: events may be
  /// late. True when that cannot be found out.
  [[nodiscard]] virtual bool IsCurrent(const PlannedPod& pod) = 0;
  /// Whether a pod of which the handler was not told is gone for good. False when that cannot be
  /// found out.
  [[nodiscard]] virtual bool IsGone(const PodArgs& pod) = 0;
  /// For STATUS: throws CniError 50 with the reason when no pod's events can be had now.
  virtual void RequireReady() = 0;
};

}  // namespace kuryr::cni
