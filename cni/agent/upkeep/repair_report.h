#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/thread_annotations.h"
#include "binding/difference.h"
#include "cni/agent/upkeep/attachment_reporter.h"
#include "cni/attachments/attachment_record.h"
#include "cni/config.h"
#include "cni/pod/api_writer.h"
#include "service/metrics_text.h"

namespace kuryr::cni {

/// Tells what differs from the plans of running pods, and what was done: to the log, as a metric,
/// and as Events of the pods. Thread-safe.
class RepairReport {
 public:
  enum class Outcome {
    kRepaired,
    kFailed,     ///< it is tried again
    kReported,   ///< it is left as it is
    kContested,  ///< something undoes the repair each time
  };

  /// Both are borrowed.
  RepairReport(const Config& config, ApiWriter& writer) : reporter_(config, writer) {}

  void Tell(const AttachmentRecord& record, const binding::Differences& found, Outcome outcome)
      EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);

 private:
  const AttachmentReporter reporter_;
  mutable Mutex mutex_;
  /// By kind and outcome.
  std::map<std::pair<std::string, std::string>, uint64_t> counts_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
