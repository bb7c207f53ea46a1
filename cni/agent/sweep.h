#pragma once

#include <condition_variable>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "cni/attachments/attachment_record.h"
#include "cni/node_context.h"

namespace kuryr::cni {

/// Undoes what earlier processes and an earlier boot left. That is records of another boot, of a
/// namespace that is gone, and of an ADD that had no answer and whose process is gone. A DEL may
/// also have left its record to the agent. Attachments of pods that run are not touched.
/// Thread-safe.
class Sweep {
 public:
  /// Tries it once: the agent does not serve before. What cannot be undone by `deadline` is logged.
  /// A thread tries it again and again, until it is undone or this object ends.
  Sweep(const NodeContext& node, const Deadline& deadline);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// For its lifetime, an ADD's, an attachment is not tried: the ADD itself clears what is left.
  class Pause {
   public:
    Pause(Sweep& sweep, const AttachmentKey& key);
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();

   private:
    Sweep& sweep_;
    const AttachmentKey key_;
  };

  /// What is still to be undone.
  [[nodiscard]] std::vector<AttachmentKey> left() const EXCLUDES(mutex_);

 private:
  struct Try {
    AttachmentKey key;
    const EventFd& cancel;
  };

  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  void TryAll(const std::stop_token& stop) EXCLUDES(mutex_);
  /// False when it is still to be undone.
  bool TryOne(const AttachmentKey& key, const std::stop_token& stop) EXCLUDES(mutex_);

  const NodeContext& node_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<AttachmentKey> left_ GUARDED_BY(mutex_);
  std::vector<AttachmentKey> paused_ GUARDED_BY(mutex_);
  std::optional<Try> at_work_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::cni
