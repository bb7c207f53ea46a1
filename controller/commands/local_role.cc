#include "controller/commands/local_role.h"

#include <chrono>

#include "watcher/api_client.h"

namespace kuryr::controller {
namespace {

/// Where one asks who listens there.
std::string HostOf(const std::string& address) {
  if (address == "0.0.0.0") return "127.0.0.1";
  if (address == "::") return "[::1]";
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

}  // namespace

std::string LocalRole(const Config& config) {
  if (config.health_port == 0) return "";
  const auto says = [](const std::string& metrics, const char* metric) {
    return metrics.find("\n" + std::string(metric) + "\n") != std::string::npos;
  };
  try {
    watcher::ApiClient client({.api_root = "http://" + HostOf(config.health_address) + ":" +
                                           std::to_string(config.health_port),
                               .connect_timeout = std::chrono::seconds(1),
                               .read_timeout = std::chrono::seconds(1)});
    const std::string metrics = client.GetText("/metrics");
    if (says(metrics, "kuryr_controller_leader 1")) return "leads";
    if (says(metrics, "kuryr_controller_warm 1")) return "standby, warm";
    return says(metrics, "kuryr_controller_warm 0") ? "standby, not warm yet" : "";
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace kuryr::controller
