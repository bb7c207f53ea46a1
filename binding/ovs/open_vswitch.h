#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "base/mac.h"
#include "binding/ovs/database.h"
#include "binding/ovs/own_changes.h"
#include "binding/ovs/port_limits.h"
#include "binding/ovs/port_security.h"
#include "binding/ovs/port_settings.h"
#include "ovsdb/client.h"

namespace kuryr::binding {

/// How long taking back may go on, after a deadline has passed or a caller has cancelled.
inline constexpr std::chrono::seconds kRollbackTime{5};

/// The datapath_type of userspace.
inline constexpr const char* kUserspaceDatapath = "netdev";

using ExternalIds = std::map<std::string, std::string>;

[[nodiscard]] bool Includes(const ExternalIds& all, const ExternalIds& some);
/// Whether others change this key in a port's life: Neutron's agents iface-status, and a plugin
/// that comes later in the chain the MAC.
[[nodiscard]] bool IsChangedByOthers(const std::string& key);

/// The database does not answer. Thrown before anything was touched.
class OvsUnreachable : public WordedError {
 public:
  explicit OvsUnreachable(const std::system_error& why) : WordedError(why.code(), why.what()) {}
};

/// A port with one interface of the same name (ovs-vswitchd.conf.db(5)).
struct OvsPort {
  std::string name;
  std::string bridge;
  std::string type;  ///< of the interface; empty: a network device of the node
  std::map<std::string, std::string> options;  ///< of the interface
  ExternalIds external_ids;                    ///< of the interface
  std::string datapath_type;  ///< of the bridge if it has to be made; empty: the kernel's
  // For interfaces that ovs-vswitchd itself makes.
  std::optional<uint32_t> mtu_request;
  std::optional<MacAddress> mac;
  /// No packets until Neutron's agent gives the port its VLAN: tag and trunks are 4095,
  /// which no datapath lets through.
  bool isolated = false;
  /// Port.protected: no packets from or to other such ports of the bridge. (For NORMAL actions.)
  bool is_protected = false;
  /// Flows of the bridge see to it; absent: the port may send from any address.
  std::optional<PortSecurity> security;
  bool transient = true;  ///< other_config:transient: ovs-ctl(8), --delete-transient-ports
  PortSettings settings;  ///< its VLANs have no effect where it is isolated
  PortLimits limits;      ///< those that somebody asks for; its QoS row has the one for its packets
  std::string qos_type;   ///< of a QoS row of its own; empty: none
};

struct CreatedBridge {
  std::string name;
  std::string uuid;
  std::string local_port_uuid;
};

struct AddedPort {
  ConfigNumber config = 0;                      ///< the first that has the port or its changes
  std::string datapath_type;                    ///< of its bridge
  std::optional<CreatedBridge> created_bridge;  ///< if there was none
};

/// A port as it is.
struct PortState {
  std::string bridge;
  std::string datapath_type;  ///< of the bridge
  std::string type;
  ExternalIds external_ids;
  std::optional<uint32_t> mtu_request;
  std::optional<MacAddress> mac;  ///< the one that is asked for
  std::optional<uint16_t> vlan;
  std::string vlan_mode;
  std::vector<uint16_t> trunks;
  bool is_protected = false;    ///< FindProtected, where the caller wants to know it
  bool has_qos = false;         ///< the port has a QoS row, of any maker
  std::string shaping;          ///< FindShaping, where the caller wants to know it
  uint64_t policing_rate = 0;   ///< of the interface, kbit/s
  uint64_t policing_burst = 0;  ///< of the interface, kbit
  int64_t ofport = 0;  ///< OpenFlow's number; not above 0 where ovs-vswitchd could not set it up
  std::string error;   ///< its words then

  [[nodiscard]] bool IsUp() const { return error.empty() && ofport > 0; }
};

/// The name belongs to a port that is not to be replaced. `owner` describes that port.
struct TakenPort {
  std::string owner;
};

/// Decisions that AddPort leaves to its caller. Each may be asked several times.
struct AddRules {
  /// Whether the port that has the name goes for the new one. Without it none does.
  std::function<bool(const PortState& there)> may_replace;
  /// Comes before a bridge is made, and may refuse it by an exception.
  std::function<void()> before_bridge;
};

/// The node's Open vSwitch: what its database says should be, and what ovs-vswitchd made of it.
/// Every change is one transaction. Throws OvsError with OVS's words, and what OvsdbClient throws.
/// With patience it outlives restarts of ovsdb-server: what was asked is asked again. Not
/// thread-safe, like its client.
class OpenVSwitch {
 public:
  /// external_ids that name a port's owner.
  static constexpr const char* kContainerId = "kuryr-container-id";
  static constexpr const char* kNetwork = "kuryr-network";
  static constexpr const char* kNeutronPort = "iface-id";
  static constexpr const char* kPodUid = "vm-uuid";
  /// The names of the mirrors that a port joins.
  static constexpr const char* kMirrors = "kuryr-mirrors";
  /// The key in external_ids of rows of QoS and Queue for the port's name, beside those of its
  /// owner.
  static constexpr const char* kQosPort = "kuryr-port";
  /// Types of QoS rows that limit a rate: for links of the kernel, and for ports of DPDK.
  static constexpr const char* kKernelQos = "linux-htb";
  static constexpr const char* kDpdkQos = "egress-policer";

  /// `changes`, if any, has all changes of this process to this database.
  explicit OpenVSwitch(std::string remote, OvsdbConnections* kept = nullptr,
                       Deadline::Clock::duration patience = {}, OwnChanges* changes = nullptr)
      : client_(kOpenVSwitchDatabase, std::move(remote), kept, patience), changes_(changes) {}

  /// Throws OvsUnreachable. Every other call connects by itself.
  void Connect(const Deadline& deadline);

  /// Returns when ovs-vswitchd has let go of an earlier port of this name. A port that is removed
  /// and added again in one step stays with the old device in the userspace datapath, and gets no
  /// packets. Waits for other processes' changes, but not for this process's to other ports.
  void WaitUntilLetGo(const std::string& port, const Deadline& deadline);
  /// Adds the port, and its bridge where there is none; an existing bridge is not
  /// changed otherwise. One of its name has been let go of.
  [[nodiscard]] std::variant<AddedPort, TakenPort> AddPort(const OvsPort& port,
                                                           const Deadline& deadline,
                                                           const AddRules& rules = {}) {
    // A port that was added without an answer is the next try's own leftover.
    return client_.Insist(deadline, [&] { return AddOrReplacePort(port, deadline, rules); });
  }
  /// Makes the external_ids of a port that is `there` as `port` has them, with its limits, the MAC
  /// and mtu_request of one that has some, and its VLANs and QoS row if `with_settings`. Other
  /// external_ids stay, and so do iface-status and attached-mac. Throws OvsError where the
  /// external_ids have changed meanwhile.
  AddedPort UpdatePort(const OvsPort& port, const PortState& there, bool with_settings,
                       const Deadline& deadline);
  /// Returns the port's OpenFlow number when ovs-vswitchd gave it one. Throws OvsError as soon as
  /// it is known that it will not.
  uint32_t WaitUntilUp(const OvsPort& port, const AddedPort& added, const Deadline& deadline);
  /// PortMirrors::Join for a port that was added. Returns when ovs-vswitchd has the mirrors.
  void JoinMirrors(const OvsPort& port, const Deadline& deadline);
  /// As PortMirrors::FindDifference.
  [[nodiscard]] std::optional<std::string> FindMirrorDifference(const OvsPort& port,
                                                                const Deadline& deadline);
  /// Removes the port `name` if it has all of `owner`; false if there is none such. Its QoS row
  /// goes even where another removed the port. Does not wait for ovs-vswitchd. `before` removes
  /// what must go while the name is still the owner's or free (`there` is null). It is not called
  /// for another's port. The state has no bridge.
  bool DeletePort(const std::string& name, const ExternalIds& owner, const Deadline& deadline,
                  const std::function<void(const PortState* there)>& before = {});
  /// Removes the bridge if it has no port but its local one.
  void DeleteEmptyBridge(const CreatedBridge& bridge, const Deadline& deadline);
  /// Returns when ovs-vswitchd has applied all that the database says now.
  void WaitUntilApplied(const Deadline& deadline);

  /// Whether ovs-vswitchd runs: it is asked to apply the present configuration once more, and says
  /// when it has done so. Its lock on the database is no way to ask: the asker may get the lock,
  /// and an ovs-vswitchd that starts in that moment removes all ports.
  [[nodiscard]] bool IsServed(const Deadline& deadline);
  [[nodiscard]] bool HasBridge(const std::string& name, const Deadline& deadline);
  /// Why no port of the bridge can come up: it is missing, or ovs-vswitchd could not make it. One
  /// that was made once, and is changed to what cannot be, is found when ovs-vswitchd starts anew.
  [[nodiscard]] std::optional<std::string> FindBridgeProblem(const std::string& name,
                                                             const Deadline& deadline);
  /// The ports whose interfaces have all of `ids`.
  [[nodiscard]] std::vector<std::string> FindPortNames(const ExternalIds& ids,
                                                       const Deadline& deadline);
  /// The ports that have all of `port_ids` themselves.
  [[nodiscard]] std::vector<std::string> FindPortNamesOf(const ExternalIds& port_ids,
                                                         const Deadline& deadline);
  /// The bridge that has an interface of this name, as a port or in a bond; empty: none.
  [[nodiscard]] std::string FindBridgeOfInterface(const std::string& name,
                                                  const Deadline& deadline);
  /// The ports whose interfaces have all of `owner`, with bridge, type and external_ids.
  [[nodiscard]] std::vector<OvsPort> FindPorts(const ExternalIds& owner, const Deadline& deadline);
  /// The state of a port by database and ovs-vswitchd; nullopt if no port has that name.
  [[nodiscard]] std::optional<PortState> FindPortState(const std::string& name,
                                                       const Deadline& deadline);
  /// Whether the port is protected. Asked for by itself: not every schema has the column.
  [[nodiscard]] bool FindProtected(const std::string& port, const Deadline& deadline);
  /// The QoS row of the port with its queues, in the words of ShapingOf.
  [[nodiscard]] std::string FindShaping(const std::string& port, const Deadline& deadline);

 private:
  struct PortRow;

  std::variant<AddedPort, TakenPort> AddOrReplacePort(const OvsPort& port, const Deadline& deadline,
                                                      const AddRules& rules);
  std::variant<AddedPort, OvsdbFailure> TryAddPort(const OvsPort& port, const Deadline& deadline,
                                                   const AddRules& rules);
  std::optional<PortRow> FindPort(const std::string& name, const Deadline& deadline);
  nlohmann::json FindBridgeOf(const std::string& port_uuid, const Deadline& deadline);
  std::vector<std::string> FindNames(const char* table, const ExternalIds& ids,
                                     const Deadline& deadline);
  void LeaveMirrors(const PortRow& row, const Deadline& deadline);
  bool DeleteQos(const std::string& port, const ExternalIds& owner, const Deadline& deadline);
  std::string WhyNotMade(const std::string& bridge, const Deadline& deadline);
  void UndoAdd(const OvsPort& port) noexcept;
  uint32_t FollowUntilUp(const OvsPort& port, const AddedPort& added, const Deadline& deadline);
  template <typename Follow>
  auto Await(const std::string& what, const Deadline& deadline, const Follow& follow);
  /// The rows that one select gives.
  nlohmann::json Read(const nlohmann::json& select, const Deadline& deadline,
                      const std::string& what);
  nlohmann::json Transact(const nlohmann::json& operations, const Deadline& deadline,
                          const std::string& what);

  struct Numbers;
  Numbers ReadNumbers(const Deadline& deadline);
  void WaitUntilApplied(ConfigNumber wanted, const Deadline& deadline);
  void NoteChange(ConfigNumber number, const std::string& removed_port = {}) const;

  OvsdbClient client_;
  OwnChanges* changes_;
};

}  // namespace kuryr::binding
