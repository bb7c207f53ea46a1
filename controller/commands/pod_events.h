#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::controller {

/// What kuryr-controller has told of pods by Events: the newest of each. Not thread-safe.
class PodEvents {
 public:
  struct Told {
    std::string reason;
    std::string message;
    std::chrono::sys_seconds at;
  };

  /// Of all pods, or of those in a namespace: "default". Without the right to list Events there are
  /// none, and problem() says so. Throws what ApiClient does.
  explicit PodEvents(watcher::ApiClient& client, const std::string& name_space = "");

  /// By the pod's UID; nullptr where there is none.
  [[nodiscard]] const Told* Find(const std::string& uid) const;
  /// Why there may be Events that are not known; empty when there are none.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void Take(const watcher::WatchEvent& event);

  std::unordered_map<std::string, Told> newest_;
  std::string problem_;
};

}  // namespace kuryr::controller
