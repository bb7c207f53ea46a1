#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "cni/protocol/args.h"
#include "watcher/api_config.h"

namespace kuryr::cni {

// What the API server itself says of one pod, where a watch may be behind. An ADD waits meanwhile:
// it is asked for 5 s at most.

/// Whether `uid` is that of the pod that has the name now. True where that cannot be found out.
[[nodiscard]] bool IsCurrentPod(const watcher::ApiConfig& config, const PodArgs& pod,
                                const std::string& uid);

/// Whether the pod that the runtime means is gone for good, or another one has its name. False
/// where that cannot be found out.
[[nodiscard]] bool IsGonePod(const watcher::ApiConfig& config, const PodArgs& wanted);

/// The same, when the API server has `present` under that name, or nothing. False for a static pod,
/// which runs before its mirror is at the API server. Its UID is the hash of its manifest, none of
/// RFC 4122; the kubelet annotates the mirror with it.
[[nodiscard]] bool IsGone(const PodArgs& wanted, const std::optional<nlohmann::json>& present);

}  // namespace kuryr::cni
