#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/shared.h"

namespace kuryr::binding {

/// VIFSriov of plugin "sriov" and VIFHostDevice of plugin "ovs": the link of a virtual function
/// (VF) goes into the pod, with MAC and VLAN enforced by its physical function (PF); that of a
/// VIFHostDevice is reached through its representor, a port of the Open vSwitch bridge. The one
/// driver that moves links: hardware cannot be born elsewhere.
/// (kuryr_kubernetes/cni/binding/sriov.py; os-vif: vif_plug_ovs)
class SriovDriver final : public Driver {
 public:
  static constexpr const char* kName = "sriov";

  SriovDriver(BindingConfig config, Shared& shared);

  /// Looks for the VF in sysfs. Throws HostInterfaceInUse for one that is not on the host.
  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override;
  std::vector<Interface> Connect(const PlugRequest& request) override;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override;
  /// The VF comes back as it was. When the kernel brought it back, with the end of the namespace,
  /// it is found by its PCI address.
  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override;
  /// From the marks in the attachment's namespace and on the host. A representor's port is
  /// OvsDriver's to find, and to remove.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override;

 private:
  BindingConfig config_;
  Shared& shared_;
};

}  // namespace kuryr::binding
