#pragma once

#include <map>
#include <string>

#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "cni/attachments/attachment_record.h"

namespace kuryr::cni {

/// The ADDs that run in this process, so that a DEL of the same attachment can end one: it wins.
/// Thread-safe.
class Cancellations {
 public:
  /// An ADD registers itself for its lifetime.
  class Entry {
   public:
    Entry(Cancellations& all, const AttachmentKey& key, const EventFd& cancel);
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();

   private:
    Cancellations& all_;
    const std::string key_;
    const EventFd& cancel_;
  };

  /// Without waiting for them to end: whoever wants the attachment's lock waits for that.
  void Cancel(const AttachmentKey& key) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::multimap<std::string, const EventFd*> running_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
