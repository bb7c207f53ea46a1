#pragma once

#include <exception>
#include <string>

#include "cni/pod/known_pod.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Hears of one pod, and why nothing is heard of it.
class PodHandler {
 public:
  virtual ~PodHandler() = default;

  /// It is there, new or changed.
  virtual void OnPresent(const PlannedPod& pod) = 0;
  /// The pod of this name that had `uid` is gone.
  virtual void OnDeleted(const std::string& uid) = 0;
  /// A try to watch has failed, as watcher::FailureHandler is told.
  virtual void OnWatchFailure(const std::exception_ptr& failure) = 0;
};

/// Where an ADD hears of its pod: the API server's own watch, or the registry of the node's agent.
class PodEventSource {
 public:
  virtual ~PodEventSource() = default;

  /// From now on `handler` hears of the pod, its present state first, from another thread. It is
  /// borrowed until Stop().
  virtual void Start(const PodArgs& pod, PodHandler& handler) = 0;
  /// After it nothing is called any more.
  virtual void Stop() = 0;
  /// Whether a pod that Start() told of is the one that has its name now: what tells of it may be
  /// behind. True where that cannot be found out.
  [[nodiscard]] virtual bool IsCurrent(const PlannedPod& pod) = 0;
  /// Whether a pod that Start() has not told of is gone for good. False where that cannot be found
  /// out.
  [[nodiscard]] virtual bool IsGone(const PodArgs& pod) = 0;
  /// For STATUS: throws CniError 50 that says why no pod's events could be had now.
  virtual void RequireReady() = 0;
};

}  // namespace kuryr::cni
