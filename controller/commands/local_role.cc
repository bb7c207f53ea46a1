#include "controller/commands/local_role.h"

#include <chrono>

#include "service/health_client.h"

namespace kuryr::controller {

std::string LocalRole(const Config& config) {
  const auto says = [](const std::string& metrics, const char* metric) {
    return metrics.find("\n" + std::string(metric) + "\n") != std::string::npos;
  };
  const auto answer = service::AskHealth(config.program, "/metrics", std::chrono::seconds(1));
  if (!answer) return "";
  const std::string& metrics = answer->text;
  if (says(metrics, "kuryr_controller_leader 1")) return "leads";
  if (says(metrics, "kuryr_controller_synced 1")) return "standby, warm";
  return says(metrics, "kuryr_controller_synced 0") ? "standby, not warm yet" : "";
}

}  // namespace kuryr::controller
