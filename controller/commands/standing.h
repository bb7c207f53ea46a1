#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "controller/commands/pod_events.h"
#include "controller/commands/survey.h"

namespace kuryr::controller {

/// How it stands with a pod's plan.
enum class Standing {
  kNone,       ///< it needs no plan, and has none
  kOthers,     ///< another producer's
  kPlanned,    ///< as it should be
  kWaiting,    ///< it has none yet
  kInactive,   ///< a VIF is not active yet
  kConflict,   ///< another pod has an address of it
  kLost,       ///< it is active, and carries nothing any more, as its newest Event says
  kBad,        ///< it cannot be read
  kReleasing,  ///< the pod is done or deleted, and still has its plan or the finalizer
};
inline constexpr size_t kStandings = 9;

[[nodiscard]] Standing StandingOf(const PodStore::Known& known);
/// As status has it: "waiting", "planned,inactive".
[[nodiscard]] const char* NameOf(Standing state);
/// Since when the pod is so, as far as the API server tells.
[[nodiscard]] std::chrono::seconds AgeOf(const Survey::Pod& pod);

/// What is asked about one pod.
struct PodQuestion {
  const Survey::Pod& pod;
  const Leader& leader;
  const PodEvents& events;
  Survey& survey;  ///< for what is to be asked about its node
};
/// The same as far as Events tell, too.
[[nodiscard]] Standing StandingOf(const PodQuestion& question);
/// Why it is so, where it is not as it should be.
[[nodiscard]] std::string WhyOf(const PodQuestion& question);
/// What a controller does next with it, and why.
[[nodiscard]] std::string NextOf(const PodQuestion& question);

}  // namespace kuryr::controller
