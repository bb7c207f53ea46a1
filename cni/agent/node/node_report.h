#pragma once

#include <string>

#include "binding/difference.h"
#include "cni/agent/upkeep/outcome_counter.h"
#include "cni/config.h"
#include "cni/pod/api_writer.h"
#include "service/metrics_text.h"

namespace kuryr::cni {

/// Tells what of the node's own network differed from its plan, and what was done: to the log, as a
/// metric, and as Events of the Node. Thread-safe.
class NodeReport {
 public:
  enum class Outcome {
    kMade,       ///< for the first time, or by a plan that has changed
    kRepaired,   ///< somebody else had changed it
    kFailed,     ///< it is tried again
    kContested,  ///< something undoes the repair each time
  };

  /// Both are borrowed.
  NodeReport(const Config& config, ApiWriter& writer) : config_(config), writer_(writer) {}

  /// `part` is NodePart::name, `uid` the Node's.
  void Tell(const std::string& part, const binding::Differences& found, Outcome outcome,
            const std::string& uid);
  void WriteTo(service::MetricsText& text) const;

 private:
  void Post(const std::string& differences, Outcome outcome, const std::string& uid) const;

  const Config& config_;
  ApiWriter& writer_;
  OutcomeCounter count_;
};

}  // namespace kuryr::cni
