#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "binding/difference.h"
#include "binding/driver_context.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/neutron_port.h"

namespace kuryr::binding {

/// A port of Open vSwitch in one call: to add, check and find ports. No step takes longer than
/// [os_vif_ovs] ovs_vsctl_timeout lets it. Throws what OpenVSwitch does.
/// `context` outlives it. Not thread-safe.
class PortSession {
 public:
  /// An ovsdb-server that is down is waited for, as long as `patience` says.
  PortSession(const DriverContext& context, const Deadline& deadline,
              Deadline::Clock::duration patience);
  /// For Connect: the patience is [os_vif_ovs] ovsdb_wait.
  [[nodiscard]] static PortSession Patient(const DriverContext& context, const Deadline& deadline);
  /// For all other calls.
  [[nodiscard]] static PortSession AtOnce(const DriverContext& context, const Deadline& deadline);

  /// For calls that need no more than the deadline.
  [[nodiscard]] OpenVSwitch& ovs() noexcept { return ovs_; }
  [[nodiscard]] const Deadline& deadline() const noexcept { return deadline_; }

  /// Throws OvsUnreachable: with Open vSwitch down nothing is touched.
  void Connect() { ovs_.Connect(deadline_); }
  /// For a port of this name; before what is to be the port is made, since ovs-vswitchd is busy
  /// with that then. Add does it otherwise.
  void WaitUntilLetGo(const std::string& port) {
    ovs_.WaitUntilLetGo(port, deadline_);
    let_go_ = true;
  }
  /// Throws HostInterfaceInUse when another's port has the name. Throws UnsupportedVif when its
  /// bridge is missing and not to be made, or with another datapath_type than this (empty: any).
  /// Returns the bridge that was made for the port, if any.
  std::optional<CreatedBridge> Add(const OvsPort& port, const std::string& datapath_type);
  /// As OpenVSwitch::JoinMirrors, for what Add added.
  void JoinMirrors() { ovs_.JoinMirrors(port_, deadline_); }
  /// Returns the OpenFlow number of what Add added, when ovs-vswitchd gave it one.
  uint32_t WaitUntilUp() { return ovs_.WaitUntilUp(port_, added_, deadline_); }
  /// Undoes a Connect of `interface`: `disconnect`, within time of its own, and then the bridge
  /// goes that Add made. Failures are logged.
  void Undo(const std::string& interface,
            const std::function<void(const Deadline& deadline)>& disconnect) noexcept;

  /// Adds the differences of the port from `wanted`, which has to be up. VLANs and a QoS row
  /// without a limit are compared where no agent of Neutron sets them (BindingConfig::owns_ports).
  /// Returns the port as it is; nullopt for a missing one.
  std::optional<PortState> Check(const OvsPort& wanted, Differences& found);
  /// As OpenVSwitch::UpdatePort, with the settings that Check compares. For JoinMirrors and
  /// WaitUntilUp the port is one that was added.
  void Update(const OvsPort& wanted, const PortState& there);
  /// Whether the port's bridge has the datapath of userspace: after Add, or Check of a port that is
  /// there.
  [[nodiscard]] bool IsUserspace() const { return datapath_type_ == kUserspaceDatapath; }

  /// The plugs, of every driver, whose ports have all of `ids`.
  [[nodiscard]] std::vector<FoundPlug> FindPlugs(const ExternalIds& ids);

  /// As OpenVSwitch::WaitUntilApplied, but no longer than a rollback may take.
  void WaitUntilApplied() { ovs_.WaitUntilApplied(deadline_.AtMost(kRollbackTime)); }

 private:
  /// For a bridge that is to be made.
  void RequireAllowedBridge(const OvsPort& port, const std::string& datapath_type);
  void RequireNoOtherLink(const std::string& bridge);

  const DriverContext& context_;
  const Deadline deadline_;
  OpenVSwitch ovs_;
  bool let_go_ = false;
  bool is_checked_ = false;  ///< a running pod's port: its bridge was there once
  OvsPort port_;             ///< after Add
  AddedPort added_;          ///< after Add
  std::string datapath_type_;
};

}  // namespace kuryr::binding
