#pragma once

#include <memory>
#include <vector>

#include "base/deadline.h"
#include "binding/difference.h"
#include "binding/driver_context.h"
#include "binding/node/node_plan.h"

namespace kuryr::binding {

/// A part of the node's own network: it compares itself with the plan, and makes what is missing.
/// Both may be repeated. They work in the calling thread's namespace, and throw std::system_error.
class NodePart {
 public:
  virtual ~NodePart() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual Differences Check(const Deadline& deadline) = 0;
  /// Writes what differs, and nothing else.
  virtual void Make(const Deadline& deadline) = 0;
};

// Each part borrows `plan`.

/// The settings of Open vSwitch for ovn-controller (ChassisSetting). A value that somebody else has
/// set stays. Check throws OvsError where such a value keeps OVN from binding the node's ports.
[[nodiscard]] std::unique_ptr<NodePart> NewChassisPart(const NodePlan& plan,
                                                       const DriverContext& context);
/// The port of Open vSwitch and its link. Throws HostInterfaceInUse where another's port or link
/// has the name.
[[nodiscard]] std::unique_ptr<NodePart> NewManagementPortPart(const NodePlan& plan,
                                                              const DriverContext& context);
/// The settings of the kernel (ip-sysctl) for the port's link, and the node's forwarding where that
/// is off. Settings for all links ("conf/all") are not written otherwise.
[[nodiscard]] std::unique_ptr<NodePart> NewSettingsPart(const NodePlan& plan);
/// The addresses of the port's link: the planned ones, and IPv6's link-local one.
[[nodiscard]] std::unique_ptr<NodePart> NewAddressPart(const NodePlan& plan);
/// The routes to other nodes' pods.
[[nodiscard]] std::unique_ptr<NodePart> NewRoutePart(const NodePlan& plan);
/// The rules of nftables.
[[nodiscard]] std::unique_ptr<NodePart> NewRulePart(const NodePlan& plan);

/// All parts, in the order in which they are made.
[[nodiscard]] std::vector<std::unique_ptr<NodePart>> NodePartsOf(const NodePlan& plan,
                                                                 const DriverContext& context);
/// Takes back what the parts have made, whatever the plan was: the chassis, ports, routes and
/// rules. Settings of the kernel stay. Tries all, and throws the first failure. False when there
/// was nothing.
bool RemoveNodeParts(const DriverContext& context, const Deadline& deadline);

}  // namespace kuryr::binding
