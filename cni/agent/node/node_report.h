#pragma once

#include <string>

#include "binding/difference.h"
#include "cni/agent/upkeep/outcome_counter.h"
#include "cni/config.h"
#include "cni/pod/api_writer.h"
#include "service/metrics_text.h"
#include "watcher/pod_event.h"

namespace kuryr::cni {

/// Tells what of the node's own network differed from its plan, and what was done: to the log, as a
/// metric, and as Events of the Node. Thread-safe.
class NodeReport {
 public:
  enum class Outcome {
    kMade,       ///< for the first time, or by a plan that has changed
    kRepaired,   ///< somebody else had changed it
    kFailed,     ///< it is tried again: TellFailure
    kContested,  ///< something undoes the repair each time
  };

  /// Both are borrowed.
  NodeReport(const Config& config, ApiWriter& writer) : config_(config), writer_(writer) {}

  /// `part` is NodePart::name, `uid` the Node's.
  void Tell(const std::string& part, const binding::Differences& found, Outcome outcome,
            const std::string& uid);
  /// Counts a change that failed. Log and Event tell of `why` only where it is news: it may fail
  /// the same way for ever.
  void TellFailure(const std::string& part, const binding::Differences& found,
                   const std::string& why, bool is_news, const std::string& uid);
  void WriteTo(service::MetricsText& text) const;

 private:
  void Post(const watcher::PodEvent& event, const std::string& uid) const;

  const Config& config_;
  ApiWriter& writer_;
  OutcomeCounter count_;
};

}  // namespace kuryr::cni
