#pragma once

#include <string>

#include "binding/difference.h"
#include "cni/agent/upkeep/attachment_reporter.h"
#include "cni/agent/upkeep/outcome_counter.h"
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
    kFailed,     ///< it is tried again: TellFailure
    kReported,   ///< it is left as it is
    kContested,  ///< something undoes the repair each time
  };

  /// Both are borrowed.
  RepairReport(const Config& config, ApiWriter& writer) : reporter_(config, writer) {}

  void Tell(const AttachmentRecord& record, const binding::Differences& found, Outcome outcome);
  /// Counts a repair that failed. Log and Event tell of `why` only where it is news: it may fail
  /// the same way for ever.
  void TellFailure(const AttachmentRecord& record, const binding::Differences& found,
                   const std::string& why, bool is_news);
  void WriteTo(service::MetricsText& text) const;

 private:
  /// Returns what the pod's user is told of the differences.
  [[nodiscard]] static std::string LogAll(const AttachmentRecord& record,
                                          const binding::Differences& found, Outcome outcome);

  const AttachmentReporter reporter_;
  OutcomeCounter count_;
};

}  // namespace kuryr::cni
