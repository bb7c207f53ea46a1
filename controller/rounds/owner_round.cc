#include "controller/rounds/owner_round.h"

#include <chrono>

#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

/// How long a backend that cannot serve is not asked again for one owner, unless the owner changes.
constexpr std::chrono::seconds kRefusedAgain{60};

/// The reason of the Event that tells of the error: one word, CamelCase.
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

/// A namespace that ends forbids new KuryrPorts, whatever rights the controller has.
std::string WhyForbidden(const Owner& owner, const watcher::ApiError& error) {
  return owner.is_node() ? WithMissingRight(error) : error.what();
}

}  // namespace

void OwnerRound::Try(const Key& key, const Owner& owner, const std::function<void()>& look) {
  try {
    look();
  } catch (const PlanError& e) {
    parts_.reporter.Report(owner, ReasonOf(e.kind()), e.what(), parts_.writer);
    if (e.kind() == PlanError::Kind::kGone) parts_.ask_for_absent();
    Retry(key, e);
  } catch (const watcher::ApiError& e) {
    constexpr int kInvalid = 422;
    if (e.code() == watcher::ApiError::kNotFound) return;  // The watch is about to say so.
    if (e.code() == watcher::ApiError::kForbidden || e.code() == kInvalid)
      parts_.reporter.Report(owner, "KuryrPlanNotWritten", WhyForbidden(owner, e), parts_.writer);
    if (e.code() != watcher::ApiError::kConflict) throw;
    parts_.metrics.CountConflict();
    parts_.queue.AddRateLimited(key);
  }
}

bool OwnerRound::Activate(const Owner& owner, std::vector<vif::PodVif>& vifs) {
  const bool is_active = parts_.backend.Await(owner, vifs);
  for (vif::PodVif& vif : vifs) vif::Common(vif.vif).active = is_active;
  return is_active;
}

void OwnerRound::Retry(const Key& key, const PlanError& error) {
  if (error.retry_after()) {
    parts_.queue.AddAfter(key, *error.retry_after());
  } else if (error.kind() == PlanError::Kind::kRefused) {
    parts_.queue.AddAfter(key, kRefusedAgain);
  } else {
    parts_.queue.AddRateLimited(key);
  }
}

}  // namespace kuryr::controller
