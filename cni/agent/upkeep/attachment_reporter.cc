#include "cni/agent/upkeep/attachment_reporter.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/log.h"
#include "cni/pod/network_status.h"

namespace kuryr::cni {

void AttachmentReporter::Write(ApiWrite write) const noexcept {
  try {
    writer_.WriteLater(std::move(write));
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "nothing told to the API server", {{"error", e.what()}});
  }
}

void AttachmentReporter::Post(const AttachmentRecord& record,
                              const watcher::PodEvent& event) const noexcept {
  const size_t slash = record.pod.find('/');
  if (!config_.reports.use_events || slash == std::string::npos) return;
  const std::string name_space = record.pod.substr(0, slash);
  Write({.kind = ApiWrite::Kind::kCreate,
         .path = "/api/v1/namespaces/" + name_space + "/events",
         .body = EncodePodEvent(event, {name_space, record.pod.substr(slash + 1), record.pod_uid},
                                {"kuryr-cni", config_.node_name})});
}

void AttachmentReporter::SetStatus(const AttachmentRecord& record,
                                   const std::vector<PluggedVif>& vifs) const noexcept {
  const size_t slash = record.pod.find('/');
  if (!config_.reports.network_status || slash == std::string::npos) return;
  const std::string status = NetworkStatusOf(record.key.network, vifs).dump();
  Write({.kind = ApiWrite::Kind::kMergePatch,
         .path = "/api/v1/namespaces/" + record.pod.substr(0, slash) + "/pods/" +
                 record.pod.substr(slash + 1),
         .body = {{"metadata", {{"annotations", {{kNetworkStatusAnnotation, status}}}}}}});
}

}  // namespace kuryr::cni
