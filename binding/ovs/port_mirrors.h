#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "binding/ovs/port_settings.h"
#include "ovsdb/client.h"

namespace kuryr::binding {

/// In external_ids:owner of the ports and mirrors that ovs-cni makes, and of those that either may
/// remove.
inline constexpr const char* kOvsCniOwner = "ovs-cni.network.kubevirt.io";

/// Joins a port to mirrors (SPAN) of its bridge, which are known by their names. A missing mirror
/// is made, and goes with its last port. A mirror that somebody else made is joined, and stays.
/// Each mirror is one transaction, and all may be repeated. Throws OvsError with OVS's words, and
/// what OvsdbClient throws. Not thread-safe, like the client.
class PortMirrors {
 public:
  struct Port {
    std::string name;
    std::string uuid;
  };

  /// `client` is borrowed.
  PortMirrors(OvsdbClient& client, Port port) : client_(client), port_(std::move(port)) {}

  /// Throws OvsError for a mirror of another bridge, and for one whose output is another port.
  void Join(const std::string& bridge, const std::vector<PortMirror>& mirrors,
            const Deadline& deadline);
  void Leave(const Deadline& deadline);
  /// The first part of `mirrors` that the port has not, in words; nullopt when it has all.
  [[nodiscard]] std::optional<std::string> FindDifference(const std::vector<PortMirror>& mirrors,
                                                          const Deadline& deadline);

 private:
  [[nodiscard]] nlohmann::json JoinOperations(const std::string& bridge, const PortMirror& mirror,
                                              const Deadline& deadline);
  [[nodiscard]] nlohmann::json LeaveOperations(const Deadline& deadline);
  /// False where another client changed the rows in between.
  bool TryTransact(const nlohmann::json& operations, const Deadline& deadline,
                   const std::string& what);

  OvsdbClient& client_;
  const Port port_;
};

}  // namespace kuryr::binding
