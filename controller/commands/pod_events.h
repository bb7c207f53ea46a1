#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "watcher/api_client.h"
#include "watcher/watch_event.h"

namespace kuryr::controller {

/// The newest Event of kuryr-controller on each pod and node. Not thread-safe.
class PodEvents {
 public:
  struct Told {
    std::string reason;
    std::string message;
    std::chrono::sys_seconds at;
    uint64_t version = 0;  ///< of the object: orders what is of one second

    [[nodiscard]] bool IsAfter(const Told& other) const;
    /// "3m ago: REASON MESSAGE".
    [[nodiscard]] std::string ToString() const;
  };

  /// Reads all Events, or those of one namespace: "default". Without the right to list Events
  /// it reads none, and problem() says so. Throws what ApiClient does.
  explicit PodEvents(watcher::ApiClient& client, const std::string& name_space = "");

  /// The newest Event on the pod or node of this UID; nullptr: none.
  [[nodiscard]] const Told* Find(const std::string& uid) const;
  /// Why Events may be missing; empty if none are.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void Take(const watcher::WatchEvent& event);

  std::unordered_map<std::string, Told> newest_;
  std::string problem_;
};

}  // namespace kuryr::controller
