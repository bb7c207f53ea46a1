#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kuryr::watcher {

/// An event to report for a pod, beside the answer to its runtime.
struct PodEvent {
  enum class Type { kNormal, kWarning };

  Type type = Type::kNormal;
  std::string reason;   ///< one word, CamelCase
  std::string message;  ///< for people
};

/// A pod's names; `uid` is empty if it is not known.
struct PodName {
  std::string name_space;
  std::string name;
  std::string uid;
};

/// The program that reports the event.
struct EventSource {
  std::string component;  ///< "kuryr-cni"
  std::string host;       ///< the node it runs on
};

/// An Event (core/v1) that happened now. The message is cut at 1000 bytes.
[[nodiscard]] nlohmann::json EncodePodEvent(const PodEvent& event, const PodName& pod,
                                            const EventSource& source);

}  // namespace kuryr::watcher
