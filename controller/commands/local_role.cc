#include "controller/commands/local_role.h"

#include <httplib.h>

#include <chrono>

namespace kuryr::controller {
namespace {

/// Where one asks who listens there.
std::string HostOf(const std::string& address) {
  if (address == "0.0.0.0") return "127.0.0.1";
  return address == "::" ? "::1" : address;
}

}  // namespace

std::string LocalRole(const Config& config) {
  if (config.program.health_port == 0) return "";
  const auto says = [](const std::string& metrics, const char* metric) {
    return metrics.find("\n" + std::string(metric) + "\n") != std::string::npos;
  };
  httplib::Client client(HostOf(config.program.health_address),
                         static_cast<int>(config.program.health_port));
  client.set_connection_timeout(std::chrono::seconds(1));
  client.set_read_timeout(std::chrono::seconds(1));
  const httplib::Result answer = client.Get("/metrics");
  if (!answer) return "";
  const std::string& metrics = answer->body;
  if (says(metrics, "kuryr_controller_leader 1")) return "leads";
  if (says(metrics, "kuryr_controller_warm 1")) return "standby, warm";
  return says(metrics, "kuryr_controller_warm 0") ? "standby, not warm yet" : "";
}

}  // namespace kuryr::controller
