#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "binding/ovs/database.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/openflow_connections.h"

namespace kuryr::binding {

/// [os_vif_ovs] wait_for_wiring: the service for which an ADD waits. kAuto: the one that programs
/// the bridge, by the database.
enum class WaitForWiring { kAuto, kOvn, kNeutron, kOff };

/// A port has a number, and the service that connects it with its network has not done so.
class NotWired : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A port to look for.
struct PlannedPort {
  ExternalIds owner;  ///< external_ids that only this port's interface has
  std::string bridge;
};

/// Whether new ports are connected with their networks, by those that program bridges of a node:
/// - ovn-controller, of the bridge that Open_vSwitch.external_ids name (ovn-remote, ovn-bridge and
///   their variants for one chassis, ovn-controller(8)): Interface.external_ids:ovn-installed. A
///   new row has none, whatever an older one of the port said. ovn-controller also says so when
///   ovs-vswitchd has refused its flows, so the bridge must have some of the port. A bridge that
///   has no socket here, or not this version of OpenFlow, is not asked.
/// - neutron-openvswitch-agent, whose bridge has fail_mode secure and leads on by "patch-tun" or
///   "int-…" (ML2/OVS): Port.tag, last of what it sets and 4095 until then.
/// Not thread-safe.
class PortWiring {
 public:
  /// The connections that are kept, both borrowed.
  struct Kept {
    OvsdbConnections* ovsdb = nullptr;
    OpenFlowConnections* flows = nullptr;  ///< null: no bridge is asked
  };
  /// `patience` is the client's.
  PortWiring(const std::string& remote, const Kept& kept, WaitForWiring wait,
             Deadline::Clock::duration patience = {})
      : remote_(remote),
        client_(kOpenVSwitchDatabase, remote, kept.ovsdb, patience),
        flows_(kept.flows),
        wait_(wait) {}

  enum class Who { kNobody, kOvn, kNeutronAgent };

  /// Returns when all are wired, or no service wires them: the service that wires all of them, or
  /// kNobody. Throws NotWired at the deadline and when cancelled, OvsError for a port that is gone,
  /// and what OvsdbClient throws.
  Who Wait(const std::vector<PlannedPort>& ports, const Deadline& deadline);
  /// In words: the service whose part is missing, or else one that has done its part. Empty where
  /// no service wires the ports.
  [[nodiscard]] std::string Describe(const std::vector<PlannedPort>& ports,
                                     const Deadline& deadline);

 private:
  struct Port {
    std::string name;
    std::string bridge;
    int64_t number = 0;   ///< OpenFlow's
    std::string chassis;  ///< in words, of Who::kOvn
    Who who = Who::kNobody;
    bool wired = false;
  };

  [[nodiscard]] static std::string DescribeMissing(const std::vector<Port>& ports);
  [[nodiscard]] Who WhoWires(const std::string& bridge, const nlohmann::json& node) const;
  std::vector<Port> Look(const std::vector<PlannedPort>& ports, const Deadline& deadline);
  void ReadTags(std::vector<Port>& ports, const Deadline& deadline);
  /// Returns all ports when they are wired.
  std::vector<Port> Follow(const std::vector<PlannedPort>& ports, const Deadline& deadline);
  [[nodiscard]] bool HasFlows(const Port& port, const Deadline& deadline);
  [[nodiscard]] std::string DescribeFlowless(const std::vector<Port>& ports,
                                             const Deadline& deadline);
  nlohmann::json Transact(const nlohmann::json& operations, const Deadline& deadline);

  const std::string remote_;
  OvsdbClient client_;
  OpenFlowConnections* const flows_;
  WaitForWiring wait_;
  std::string missing_;  ///< when Follow looked last
};

}  // namespace kuryr::binding
