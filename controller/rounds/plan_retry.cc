#include "controller/rounds/plan_retry.h"

#include <chrono>

#include "controller/rounds/reporter.h"

namespace kuryr::controller {
namespace {

/// How long a backend that cannot serve is not asked again for one owner, unless the owner changes.
constexpr std::chrono::seconds kRefusedAgain{60};

}  // namespace

const char* ReasonOf(PlanError::Kind kind) {
  switch (kind) {
    case PlanError::Kind::kRetry:
      return "KuryrBackendUnavailable";
    case PlanError::Kind::kExhausted:
      return kNoFreeAddress;
    case PlanError::Kind::kRefused:
      return "KuryrPlanRefused";
    case PlanError::Kind::kGone:
      return "KuryrNetworkNotFound";
  }
  return "KuryrPlanFailed";
}

void Retry(service::WorkQueue& queue, const std::string& key, const PlanError& error) {
  if (error.retry_after()) {
    queue.AddAfter(key, *error.retry_after());
  } else if (error.kind() == PlanError::Kind::kRefused) {
    queue.AddAfter(key, kRefusedAgain);
  } else {
    queue.AddRateLimited(key);
  }
}

}  // namespace kuryr::controller
