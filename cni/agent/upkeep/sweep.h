#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/node_context.h"

namespace kuryr::cni {

/// Undoes what earlier processes and an earlier boot left: records of another boot, of a namespace
/// that is gone, and of an ADD without an answer whose process is gone. A DEL may also have left
/// its record to the agent. Attachments of pods that run are not touched. Thread-safe.
class Sweep : public UpkeepJob {
 public:
  /// Tries each record once: the agent does not serve before. What cannot be undone by `deadline`
  /// is logged, and left to the upkeep. `node` is borrowed.
  Sweep(const NodeContext& node, const Deadline& deadline);

  [[nodiscard]] const char* name() const override { return "sweep"; }
  void Begin(Upkeep& upkeep) override;
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override
      EXCLUDES(mutex_);

  /// The attachments that are still to be undone.
  [[nodiscard]] std::vector<AttachmentKey> left() const EXCLUDES(mutex_);

 private:
  const NodeContext& node_;
  mutable Mutex mutex_;
  std::vector<AttachmentKey> left_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
