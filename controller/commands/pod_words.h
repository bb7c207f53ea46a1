#pragma once

#include <chrono>
#include <string>

#include "controller/commands/leader.h"
#include "controller/commands/pod_events.h"
#include "controller/commands/survey.h"
#include "controller/rounds/decision.h"

namespace kuryr::controller {

/// Decides about a listed pod as a controller does. Other pods are not asked about, so that no pod
/// yields. Only Events tell whether a pod has lost a VIF: a leader has seen it.
[[nodiscard]] Decision DecideListed(const Survey::Pod& pod, Survey& survey,
                                    const PodEvents* events = nullptr);

/// What commands say of an act. The first decision is enough for them.
struct Fate {
  std::string act;  ///< in `adopt`; empty: it says nothing of the pod
  std::string why;
};
struct Words {
  const char* state;  ///< in `status`
  const char* next;   ///< in `status NAMESPACE/POD`
  Fate fate;
};
[[nodiscard]] const Words& WordsOf(Act act);

/// A pod, what a controller does with it, and what that is explained by.
struct PodQuestion {
  const Survey::Pod& pod;
  const Decision& decision;
  const Leader& leader;
  const PodEvents& events;
  Survey& survey;  ///< answers questions about its node
};

/// How long the pod has been in this state, as far as the API server tells.
[[nodiscard]] std::chrono::seconds AgeOf(const Survey::Pod& pod);
/// Why the plan is not as it should be; empty if it is.
[[nodiscard]] std::string WhyOf(const PodQuestion& question);
/// The next act of a controller with the pod, and why.
[[nodiscard]] std::string NextOf(const PodQuestion& question);

}  // namespace kuryr::controller
