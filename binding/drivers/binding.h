#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/difference.h"
#include "binding/driver_context.h"
#include "binding/drivers/drivers.h"
#include "binding/ovs/open_vswitch.h"  // OvsUnreachable
#include "binding/ovs/port_wiring.h"   // NotWired
#include "binding/parts/driver.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// Makes VIFs true on this node. The VIF's type says the driver, and later the plug does. Keeps no
/// state between calls but connections to OVSDB. Thread-safe, in threads of one network namespace.
class Binding {
 public:
  /// With an ssl: connection, the files of `config` become those of the whole process
  /// (libopenvswitch has one set).
  explicit Binding(const BindingConfig& config);

  /// As Driver::Plan and PlanLimits, its ParseErrors as MalformedVif. Throws UnsupportedVif also
  /// for drivers and bridges that the node does not allow.
  [[nodiscard]] Planned Plan(const vif::PodVif& vif, const RateLimits& limits = {}) const;
  /// As Driver::PlanWith and PlanLimits, for a VIF with its plug and its limits from a record.
  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug,
                                 const RateLimits& limits = {}) const;
  /// As Driver::Connect. Throws UnsupportedLimit where the bridge cannot hold a limit.
  /// OvsUnreachable where nothing was touched.
  std::vector<Interface> Connect(const PlugRequest& request);
  /// As Driver::Repair.
  Differences Repair(const PlugRequest& request);
  /// As Driver::Check.
  [[nodiscard]] Differences Check(const PlugRequest& request) const;
  /// As PortWiring::Wait, for those of the plugs that have ports of Open vSwitch.
  PortWiring::Who WaitUntilWired(const std::vector<Plug>& plugs, const Attachment& attachment,
                                 const Deadline& deadline);
  /// As PortWiring::Describe.
  [[nodiscard]] std::string DescribeWiring(const std::vector<Plug>& plugs,
                                           const Attachment& attachment, const Deadline& deadline);
  /// As binding::Announce, for the addresses of a connected VIF. Does nothing for a VIF without
  /// addresses, or on OVN with addresses that never had another MAC (HasMacOfAddresses). A VIF
  /// whose link is not the kernel's has an application to do it. `wired_by`: WaitUntilWired's.
  void Announce(const Planned& planned, const Netns& pod,
                PortWiring::Who wired_by = PortWiring::Who::kNobody) const;
  /// As Driver::Disconnect, for every plug, the last one first. Tries all, and throws the first
  /// failure.
  void Disconnect(const std::vector<Plug>& plugs, const Attachment& attachment,
                  const Deadline& deadline);
  /// The plugs of an attachment whose record is lost, from the marks that the node itself has.
  /// Ports of Open vSwitch tell the plugs of every driver that has some, and each driver tells its
  /// others. `attachment` needs no pod. A failure of either is logged, and does not hide what was
  /// found.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment, const Deadline& deadline);
  /// As FindPlugs, for all attachments of a network.
  [[nodiscard]] std::vector<FoundPlug> FindPlugsOf(const std::string& network,
                                                   const Deadline& deadline);
  /// The plugs with ports of Open vSwitch, of every network. Throws std::system_error where it
  /// cannot say.
  [[nodiscard]] std::vector<FoundPlug> FindOvsPlugs(const Deadline& deadline) const;
  /// As binding::RemoveStrayFlows, for all bridges with such ports.
  [[nodiscard]] size_t RemoveStrayFlows(const Deadline& deadline) const;
  /// Whether ovs-vswitchd applies what the database says. Throws std::system_error.
  [[nodiscard]] bool IsOvsServed(const Deadline& deadline) const;
  /// Why no port of Open vSwitch could be made on `bridge` now; nullopt when one could. It changes
  /// nothing, and takes an answer of ovs-vswitchd of the last half minute for one of now.
  [[nodiscard]] std::optional<std::string> FindOvsProblem(const std::string& bridge,
                                                          const Deadline& deadline) const;
  /// The drivers' configuration and connections, for the parts of the node itself.
  [[nodiscard]] const DriverContext& context() const noexcept { return context_; }

 private:
  [[nodiscard]] Driver& DriverOf(const DriverRow& row) const;
  [[nodiscard]] Driver& DriverOf(const Plug& plug) const;
  /// The plugs, of every driver, whose ports of Open vSwitch have all of `ids`.
  [[nodiscard]] std::vector<FoundPlug> FindPlugsWithPorts(const ExternalIds& ids,
                                                          const Deadline& deadline) const;

  Shared shared_;
  DriverContext context_;
  std::array<std::unique_ptr<Driver>, kDrivers.size()> drivers_;  ///< as kDrivers
};

}  // namespace kuryr::binding
