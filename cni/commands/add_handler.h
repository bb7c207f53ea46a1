#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "cni/commands/call.h"
#include "cni/pod/pod_devices.h"
#include "cni/pod/pod_event_source.h"
#include "cni/pod/pod_plugs.h"
#include "cni/pod/pod_reporter.h"
#include "cni/protocol/error.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

/// Plugs the VIFs of one pod as soon as its events tell of them: Neutron turns a port ACTIVE only
/// after it has seen the interface. It is done when all VIFs are active. Events and failures come
/// from the event source's thread, and Wait is called by the request's. After the last event the
/// caller unplugs what was plugged.
/// (kuryr_kubernetes/cni/handlers.py)
class AddHandler : public PodHandler {
 public:
  /// Everything is borrowed.
  AddHandler(const Call& call, PodPlugs& plugs, PodReporter& reporter);

  /// The result, or the exception that the ADD ends with; CniError 11 at the deadline says what was
  /// awaited.
  [[nodiscard]] Result Wait() EXCLUDES(mutex_);

  void OnPresent(const PlannedPod& pod) override EXCLUDES(mutex_);
  void OnDeleted(const std::string& uid) override EXCLUDES(mutex_);
  /// A refusal by the API server ends the ADD: it would refuse another try as well.
  void OnWatchFailure(const std::exception_ptr& failure) override EXCLUDES(mutex_);

 private:
  enum class Awaited { kPod, kVif, kActive };
  enum class Ended { kDone, kCancelled, kTimedOut };

  [[nodiscard]] Ended WaitUntil(const Deadline& deadline) const;
  /// Throws CniError 3 for a pod that the events have not told of and never will.
  void RequirePodIsThere() EXCLUDES(mutex_);
  /// Tells the reporter when the pod's VIFs are not planned yet. False while the pod itself is not
  /// known: the caller calls again.
  [[nodiscard]] bool TellAwaited() EXCLUDES(mutex_);

  void Advance(const PlannedPod& pod) REQUIRES(mutex_);
  /// False for an older pod of this name: the source of events is behind. Throws CniError 3 where
  /// the runtime asks for the older pod.
  [[nodiscard]] bool IsWanted(const PlannedPod& pod) REQUIRES(mutex_);
  /// An error that says what was awaited. Throws instead the failure of the last event, if any.
  [[nodiscard]] CniError GaveUp(bool cancelled) EXCLUDES(mutex_);

  const Request& request_;
  PodPlugs& plugs_ GUARDED_BY(mutex_);
  PodDevices devices_ GUARDED_BY(mutex_);
  const AttachmentStore& attachments_;
  const std::function<void(const AttachmentRecord& record)> on_planned_;
  PodEventSource& events_;
  PodReporter& reporter_ GUARDED_BY(mutex_);
  StageObserver& stages_ GUARDED_BY(mutex_);
  const Deadline deadline_;
  const EventFd done_;

  Mutex mutex_;
  Awaited awaited_ GUARDED_BY(mutex_) = Awaited::kPod;
  std::exception_ptr last_watch_failure_ GUARDED_BY(mutex_);
  std::optional<Result> result_ GUARDED_BY(mutex_);
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
