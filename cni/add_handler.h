#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "binding/binding.h"
#include "cni/attachment_store.h"
#include "cni/pod_result.h"
#include "cni/protocol/error.h"
#include "cni/protocol/request.h"
#include "cni/protocol/result.h"
#include "watcher/event_pipeline.h"

namespace kuryr::cni {

/// Makes the VIFs of one pod true, as its events tell of them: plugs as soon as they are known
/// (Neutron turns a port ACTIVE only after it has seen the interface), and is done when all of them
/// are active. Events and failures come from the event source's thread, Wait belongs to the
/// request's, Undo to whoever knows that no event comes any more.
/// (kuryr_kubernetes/cni/handlers.py)
class AddHandler : public watcher::ResourceEventHandler {
 public:
  /// Everything is borrowed. `attachment` is locked, and its record written before the first
  /// change.
  AddHandler(const Request& request, const binding::Netns& pod, binding::Binding& binding,
             LockedAttachment& attachment, const Deadline& deadline);

  /// The result, or the exception that the ADD ends with; CniError 11 at the deadline says what was
  /// awaited.
  [[nodiscard]] Result Wait() EXCLUDES(mutex_);

  /// A failed try to watch. Being refused ends the ADD: another try in this request would not be
  /// let in either.
  void OnWatchFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);

  /// Unplugs what was plugged, and throws the first failure after having tried all.
  void Undo() EXCLUDES(mutex_);

 protected:
  void OnPresent(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void OnDeleted(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  enum class Awaited { kPod, kVif, kActive };

  void Advance(const watcher::WatchEvent& event) REQUIRES(mutex_);
  /// `pod_uid` for runtimes that do not tell it.
  void Plug(const std::vector<vif::PodVif>& vifs, const std::string& pod_uid) REQUIRES(mutex_);
  void Unplug() REQUIRES(mutex_);
  void CheckUid(const watcher::WatchEvent& event) const;
  [[nodiscard]] CniError GaveUp(bool cancelled) EXCLUDES(mutex_);

  const Request& request_;
  const binding::Netns& pod_;
  binding::Binding& binding_;
  LockedAttachment& attachment_;
  const Deadline deadline_;
  const EventFd done_;

  Mutex mutex_;
  Awaited awaited_ GUARDED_BY(mutex_) = Awaited::kPod;
  std::exception_ptr last_watch_failure_ GUARDED_BY(mutex_);
  std::vector<PluggedVif> plugged_ GUARDED_BY(mutex_);
  std::optional<Result> result_ GUARDED_BY(mutex_);
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
