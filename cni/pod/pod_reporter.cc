#include "cni/pod/pod_reporter.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/log.h"
#include "cni/pod/network_status.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {
namespace {

void Try(const std::function<void()>& tell) noexcept {
  try {
    tell();
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "nothing told to the API server", {{"error", e.what()}});
  }
}

std::string InactivePorts(const std::vector<PluggedVif>& vifs) {
  std::string ports;
  for (const PluggedVif& plugged : vifs) {
    if (vif::IsActive(plugged.vif)) continue;
    const auto& port = vif::Common(plugged.vif.vif).id;
    ports += (ports.empty() ? "" : ", ") + port.value_or(plugged.vif.ifname);
  }
  return ports;
}

}  // namespace

void PodReporter::Post(const watcher::PodEvent& event) const {
  writer_.WriteLater(
      {.kind = ApiWrite::Kind::kCreate,
       .path = "/api/v1/namespaces/" + request_.pod.name_space + "/events",
       .body = EncodePodEvent(event, {request_.pod.name_space, request_.pod.name, request_.pod.uid},
                              {"kuryr-cni", node_name_})});
}

void PodReporter::TellOnce(const watcher::PodEvent& event) {
  if (!config_.use_events || std::exchange(told_, true)) return;
  Post(event);
}

void PodReporter::OnAwaitingVifs() noexcept {
  Try([&] {
    TellOnce({.reason = "CNIWaitingForVIFs",
              .message = "Waiting for annotation " + std::string(vif::kVifAnnotation) +
                         ", or a KuryrPort: is the producer running?"});
  });
}

void PodReporter::OnWaiting(const std::vector<PluggedVif>& vifs) noexcept {
  waiting_ = true;
  Try([&] {
    TellOnce(
        {.reason = "CNIWaitingForActiveVIFs",
         .message = "Plugged; waiting for Neutron ports to become ACTIVE: " + InactivePorts(vifs)});
  });
}

void PodReporter::OnFailed(const CniError& error, bool timed_out) noexcept {
  // No user asks for the Events of a pod that is gone.
  if (!config_.use_events || error.code() == ErrorCode::kUnknownContainer) return;
  Try([&] {
    Post({.type = watcher::PodEvent::Type::kWarning,
          .reason = waiting_ && timed_out ? "CNITimedOutWaitingForActiveVIFs" : "CNIAddFailed",
          .message = "Error " + std::to_string(static_cast<int>(error.code())) + ": " +
                     error.what() + (error.details().empty() ? "" : "; " + error.details())});
  });
}

void PodReporter::OnAdded(const std::vector<PluggedVif>& vifs) noexcept {
  if (!config_.network_status) return;
  Try([&] {
    const std::string status = NetworkStatusOf(request_.config.name, vifs).dump();
    writer_.WriteLater(
        {.kind = ApiWrite::Kind::kMergePatch,
         .path = "/api/v1/namespaces/" + request_.pod.name_space + "/pods/" + request_.pod.name,
         .body = {{"metadata", {{"annotations", {{kNetworkStatusAnnotation, status}}}}}}});
  });
}

}  // namespace kuryr::cni
