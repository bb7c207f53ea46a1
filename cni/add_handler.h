#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "cni/add_observer.h"
#include "cni/call.h"
#include "cni/pod/pod_plugs.h"
#include "cni/pod_devices.h"
#include "cni/protocol/error.h"
#include "cni/protocol/result.h"
#include "watcher/event_pipeline.h"

namespace kuryr::cni {

/// Makes the VIFs of one pod true, as its events tell of them: plugs as soon as they are known
/// (Neutron turns a port ACTIVE only after it has seen the interface), and is done when all of them
/// are active. Events and failures come from the event source's thread, Wait belongs to the
/// request's; when no event comes any more, what was plugged is the caller's.
/// (kuryr_kubernetes/cni/handlers.py)
class AddHandler : public watcher::ResourceEventHandler {
 public:
  /// Everything is borrowed.
  AddHandler(const Call& call, PodPlugs& plugs, AddObserver& observer);

  /// The result, or the exception that the ADD ends with; CniError 11 at the deadline says what was
  /// awaited.
  [[nodiscard]] Result Wait() EXCLUDES(mutex_);

  /// A failed try to watch. Being refused ends the ADD: another try in this request would not be
  /// let in either.
  void OnWatchFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  enum class Awaited { kPod, kVif, kActive };
  enum class Ended { kDone, kCancelled, kTimedOut };

  [[nodiscard]] Ended WaitUntil(const Deadline& deadline) const;
  /// Throws CniError 3 for one that the events have not told of and never will.
  void RequirePodIsThere() EXCLUDES(mutex_);
  /// That nobody has planned the pod's VIFs yet. False when it is to be asked again: not even the
  /// pod is known.
  [[nodiscard]] bool TellAwaited() EXCLUDES(mutex_);

  void Advance(const watcher::WatchEvent& event) REQUIRES(mutex_);
  /// False for an older pod of this name, where what tells of it is behind. Throws CniError 3 where
  /// the pod that the runtime asks for is the older one.
  [[nodiscard]] bool IsWanted(const watcher::WatchEvent& pod) REQUIRES(mutex_);
  /// What was awaited; throws what the event that was handled until now ended with instead.
  [[nodiscard]] CniError GaveUp(bool cancelled) EXCLUDES(mutex_);

  const Request& request_;
  PodPlugs& plugs_ GUARDED_BY(mutex_);
  PodDevices devices_ GUARDED_BY(mutex_);
  const AttachmentStore& attachments_;
  PodEventSource& events_;
  AddObserver& observer_ GUARDED_BY(mutex_);
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
