#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/config.h"
#include "watcher/api_client.h"

namespace kuryr::controller {

/// The leader, as the Lease tells.
struct Leader {
  std::string holder;                       ///< the holder that the Lease names; empty: none
  std::optional<std::chrono::seconds> age;  ///< time since the renewal, by this machine's clock
  bool leads = false;                       ///< a holder has the Lease, which has not expired
  std::string unknown;                      ///< why nobody can tell; the rest means nothing then

  /// Whether certainly no controller leads.
  [[nodiscard]] bool absent() const noexcept { return !leads && unknown.empty(); }
};

/// Reads the Lease. Throws ApiError, but for a Lease that the account may not read.
[[nodiscard]] Leader FindLeader(const Config& config, watcher::ApiClient& client);

/// A line for people.
[[nodiscard]] std::string Readable(const Leader& leader);

}  // namespace kuryr::controller
