#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/deadline.h"
#include "ovsdb/client.h"

namespace kuryr::binding {

/// Tells which ports of Open vSwitch were added, changed or removed in the database: what is
/// configured of them with their QoS, not their statistics. Not thread-safe.
class PortEvents {
 public:
  /// No port's name.
  static constexpr const char* kApplied = "";

  /// Connects when first used.
  explicit PortEvents(const std::string& remote);

  /// Waits for events, and returns the ports' names, with kApplied where ovs-vswitchd has applied a
  /// configuration. Null where any port may have changed: after it has connected, and when a bridge
  /// was added or removed. A server that is down is waited for.
  /// Throws std::system_error, also at the deadline and when the connection is lost; the next call
  /// connects again.
  [[nodiscard]] std::optional<std::set<std::string>> Next(const Deadline& deadline);

 private:
  [[nodiscard]] std::optional<std::set<std::string>> Apply(const nlohmann::json& updates);

  OvsdbClient client_;
  bool is_monitored_ = false;
  std::map<std::string, std::string> names_;  ///< of rows, by their UUIDs
};

}  // namespace kuryr::binding
