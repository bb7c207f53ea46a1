#pragma once

#include <string>
#include <utility>
#include <vector>

#include "binding/parts/part.h"
#include "vif/pod_vifs.h"

namespace kuryr::binding {

/// Makes VIFs of one kind true: layer 2, and layer 3 where the pod has a network interface. A
/// driver decides what is made, and says of which parts it consists. The loops over the parts are
/// in here. Thread-safe.
class Driver {
 public:
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  /// Decides all of a VIF that is to be connected. Changes nothing. Throws ParseError for a VIF
  /// that lacks what the driver needs.
  [[nodiscard]] Planned Plan(const vif::PodVif& vif) const {
    return PlanWith(vif, ChoosePlug(vif.vif, vif.ifname));
  }
  /// Decides the names, the first half of Plan. May look at the node, and refuse a device in use.
  [[nodiscard]] virtual Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const = 0;
  /// Decides the rest from VIF and plug alone, not from the node. With the plug of a record it says
  /// what was connected.
  [[nodiscard]] virtual Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const = 0;

  /// All or nothing: whatever was made is undone before an exception leaves. Leftovers of an
  /// earlier sandbox of the same pod are replaced; those of this attachment are Disconnect's. The
  /// host's interface comes first in the answer, the pod's second.
  std::vector<Interface> Connect(const PlugRequest& request);
  /// All differences between what Connect made and what is there, in the order of the parts.
  [[nodiscard]] Differences Check(const PlugRequest& request) const;
  /// Makes what is missing of a running pod's plug, where that does not hurt the pod
  /// (Difference::live_safe). Returns all differences that were there: those that are not live_safe
  /// still are. Changes nothing where there is none. Tries all parts, and throws the first failure;
  /// what was made by then stays, and the next Repair goes on.
  Differences Repair(const PlugRequest& request);
  /// Idempotent; touches only this attachment's own things. Tries all, and throws the first
  /// failure.
  void Disconnect(const Plug& plug, const Attachment& attachment, const Deadline& deadline);

  /// The plugs of an attachment whose record is lost, from the marks on links and files. Binding
  /// itself finds those with ports of Open vSwitch.
  [[nodiscard]] virtual std::vector<Plug> FindPlugs(const Attachment& /*attachment*/,
                                                    const Deadline& /*deadline*/) const {
    return {};
  }
  /// As FindPlugs, for all attachments of a network, from the marks on the node's side.
  [[nodiscard]] virtual std::vector<FoundPlug> FindPlugsOf(const std::string& /*network*/,
                                                           const Deadline& /*deadline*/) const {
    return {};
  }

 protected:
  explicit Driver(DriverContext context) : context_(std::move(context)) {}

  /// The parts of the site's plug. Making the list neither looks at the node nor changes it.
  [[nodiscard]] virtual Parts PartsOf(PlugSite& site) const = 0;

  DriverContext context_;
};

}  // namespace kuryr::binding
