#include "cni/pod/pod_question.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "cni/pod/known_pod.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kAskTime{5};

/// The pod that has the name; nullopt for none. Throws what ApiClient throws.
std::optional<json> Ask(watcher::ApiConfig config, const PodArgs& pod) {
  config.connect_timeout = std::min(config.connect_timeout, kAskTime);
  config.read_timeout = std::min(config.read_timeout, kAskTime);
  try {
    return watcher::ApiClient(config).Get("/api/v1/namespaces/" + pod.name_space + "/pods/" +
                                          pod.name);
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    return std::nullopt;
  }
}

}  // namespace

bool IsCurrentPod(const watcher::ApiConfig& config, const PodArgs& pod, const std::string& uid) {
  try {
    const auto present = Ask(config, pod);
    return present && StringAt(present->at("metadata"), "uid") == uid;
  } catch (const std::exception&) {
    return true;
  }
}

bool IsGonePod(const watcher::ApiConfig& config, const PodArgs& wanted) {
  if (!IsUuid(wanted.uid)) return false;
  try {
    return IsGone(wanted, Ask(config, wanted));
  } catch (const std::exception&) {
    return false;
  }
}

bool IsGone(const PodArgs& wanted, const std::optional<json>& present) {
  if (!IsUuid(wanted.uid)) return false;
  return !present ||
         (!IsMirrorPod(*present) && StringAt(present->at("metadata"), "uid") != wanted.uid);
}

}  // namespace kuryr::cni
