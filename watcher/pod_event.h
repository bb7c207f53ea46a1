#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kuryr::watcher {

/// An event to report for a pod or a node.
struct PodEvent {
  enum class Type { kNormal, kWarning };

  Type type = Type::kNormal;
  std::string reason;   ///< one word, CamelCase
  std::string message;  ///< for people
};

/// The object that an event is about.
struct EventSubject {
  std::string name_space;  ///< empty: the cluster's own, whose Events are in namespace "default"
  std::string name;
  std::string uid;  ///< empty: not known
  std::string kind = "Pod";
  std::string api_version = "v1";
};

/// The program that reports the event.
struct EventSource {
  std::string component;  ///< "kuryr-cni"
  std::string host;       ///< the node it runs on
};

/// The namespace of Events about an object in `name_space`.
[[nodiscard]] std::string EventNamespaceOf(const std::string& name_space);

/// An Event (core/v1) that happened now. The message is cut at 1000 bytes.
[[nodiscard]] nlohmann::json EncodePodEvent(const PodEvent& event, const EventSubject& subject,
                                            const EventSource& source);

}  // namespace kuryr::watcher
