#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "controller/commands/leader.h"
#include "controller/commands/pod_events.h"
#include "controller/commands/survey.h"

namespace kuryr::controller {

/// The state of a pod's plan.
enum class Standing {
  kNone,       ///< the pod needs no plan and has none
  kOthers,     ///< another producer plans the pod
  kPlanned,    ///< the plan is as it should be
  kWaiting,    ///< the pod needs a plan and has none yet
  kInactive,   ///< a VIF is not active yet
  kConflict,   ///< another pod has an address of the plan
  kLost,       ///< the plan is active, but the pod's newest Event tells of a lost port
  kBad,        ///< the plan cannot be read, or must not be used
  kReleasing,  ///< the pod is done or deleted, and still has its plan or the finalizer
};
inline constexpr size_t kStandings = 9;

[[nodiscard]] Standing StandingOf(const KnownPod& known);
/// The name that the command status prints: "waiting", "planned,inactive".
[[nodiscard]] const char* NameOf(Standing state);
/// How long the pod has been in this state, as far as the API server tells.
[[nodiscard]] std::chrono::seconds AgeOf(const Survey::Pod& pod);

/// A pod, and what its state is judged by.
struct PodQuestion {
  const Survey::Pod& pod;
  const Leader& leader;
  const PodEvents& events;
  Survey& survey;  ///< answers questions about its node
};
/// As above, and also from the pod's Events: only they tell kLost.
[[nodiscard]] Standing StandingOf(const PodQuestion& question);
/// Why the plan is not as it should be; empty if it is.
[[nodiscard]] std::string WhyOf(const PodQuestion& question);
/// The next act of a controller with the pod, and why.
[[nodiscard]] std::string NextOf(const PodQuestion& question);

}  // namespace kuryr::controller
