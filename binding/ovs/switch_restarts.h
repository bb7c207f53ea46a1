#pragma once

#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/folder_watch.h"
#include "binding/ovs/openflow.h"

namespace kuryr::binding {

/// Tells when ovs-vswitchd has started anew, by which it loses all flows: its socket of one bridge
/// is there again. Not thread-safe.
class SwitchRestarts {
 public:
  /// As OpenFlow's.
  SwitchRestarts(std::string ovsdb_connection, std::string bridge)
      : ovsdb_connection_(std::move(ovsdb_connection)), bridge_(std::move(bridge)) {}

  /// Waits for an ovs-vswitchd that no earlier call has seen. False for the first one: it may have
  /// started long ago. Throws std::system_error, also at the deadline.
  [[nodiscard]] bool Next(const Deadline& deadline);

 private:
  const std::string ovsdb_connection_;
  const std::string bridge_;
  std::unique_ptr<OpenFlow> seen_;
};

}  // namespace kuryr::binding
