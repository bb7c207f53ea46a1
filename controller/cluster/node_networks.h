#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/thread_annotations.h"
#include "watcher/api_client.h"

namespace kuryr::controller {

/// Addresses and pod networks of nodes, read from the API server when needed. Thread-safe.
class NodeNetworks {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  /// How long an answer is used: another node may have the name by then.
  static constexpr std::chrono::seconds kFresh{60};

  explicit NodeNetworks(Now now = Clock::now) : now_(std::move(now)) {}

  /// The Node's spec.podCIDRs. Throws what ApiClient does, and BackendError kRetry if the node has
  /// none yet or does not exist.
  [[nodiscard]] std::vector<IpNetwork> Of(const std::string& node, watcher::ApiClient& client)
      EXCLUDES(mutex_);
  /// The Node's status.addresses of type InternalIP. Throws what ApiClient does, and BackendError
  /// kRetry if the node has none yet or does not exist.
  [[nodiscard]] std::vector<IpAddress> AddressesOf(const std::string& node,
                                                   watcher::ApiClient& client) EXCLUDES(mutex_);

 private:
  struct Networks {
    std::vector<IpNetwork> networks;
    Clock::time_point until;
  };
  struct Addresses {
    std::vector<IpAddress> addresses;
    Clock::time_point until;
  };

  const Now now_;
  Mutex mutex_;
  std::map<std::string, Networks> networks_ GUARDED_BY(mutex_);
  std::map<std::string, Addresses> addresses_ GUARDED_BY(mutex_);
};

/// Whether the node does not exist any more. Throws what ApiClient does.
[[nodiscard]] bool IsNodeGone(const std::string& node, watcher::ApiClient& client);

}  // namespace kuryr::controller
