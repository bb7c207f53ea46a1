#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "cni/protocol/args.h"
#include "watcher/api_config.h"

namespace kuryr::cni {

// Questions to the API server itself about one pod, for when a watch may be behind. An ADD waits
// for the answer, so a question takes 5 s at most.

/// Whether `uid` is that of the pod that has the name now. True when that cannot be found out.
[[nodiscard]] bool IsCurrentPod(const watcher::ApiConfig& config, const PodArgs& pod,
                                const std::string& uid);

/// Whether the pod that the runtime means is gone for good, or another one has its name. False when
/// that cannot be found out.
[[nodiscard]] bool IsGonePod(const watcher::ApiConfig& config, const PodArgs& wanted);

/// As IsGonePod, when the API server has the pod `present` under that name. False for a static pod,
/// which runs before its mirror is at the API server. A static pod's UID is the hash of its
/// manifest, no UUID of RFC 4122. The kubelet annotates the mirror with it.
[[nodiscard]] bool IsGone(const PodArgs& wanted, const std::optional<nlohmann::json>& present);

}  // namespace kuryr::cni
