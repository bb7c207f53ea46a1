#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cni/protocol/args.h"

namespace kuryr::cni {

/// What is to be told of a pod, beside the answer to its runtime.
struct PodEvent {
  enum class Type { kNormal, kWarning };

  Type type = Type::kNormal;
  std::string reason;   ///< one word, CamelCase
  std::string message;  ///< for people
};

/// An Event (core/v1) that happened now on the node of that name. The message is cut at 1024
/// bytes.
[[nodiscard]] nlohmann::json EncodePodEvent(const PodEvent& event, const PodArgs& pod,
                                            const std::string& node);

}  // namespace kuryr::cni
