#pragma once

#include <string>

#include "controller/plan/plan_error.h"
#include "service/work_queue.h"

namespace kuryr::controller {

/// The reason of the Event that tells of the error: one word, CamelCase.
[[nodiscard]] const char* ReasonOf(PlanError::Kind kind);

/// Has the key come again when asking again may help.
void Retry(service::WorkQueue& queue, const std::string& key, const PlanError& error);

}  // namespace kuryr::controller
