#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"

namespace kuryr::binding {

/// VIFMacvlanNested and VIFVlanNested: the node is a virtual machine, and the pod's interface
/// stands on top of one of its links: a macvlan whose address Neutron allows on the machine's port,
/// or a VLAN that is a subport of the machine's trunk. Nothing is made on the host.
/// (kuryr_kubernetes/cni/binding/nested.py)
class NestedDriver final : public Driver {
 public:
  static constexpr const char* kName = "nested";

  explicit NestedDriver(BindingConfig config);

  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override;
  std::vector<Interface> Connect(const PlugRequest& request) override;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override;
  /// In the attachment's namespace; with that, the interface is gone anyway.
  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override;
  /// From the marks in the attachment's namespace.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override;

  /// Older kernels refuse to make a link in another namespace under a name that is taken in this
  /// one, and a node may have an eth0 as well. The link is then born with this name, the same for
  /// every try of a plug, and gets its own with its mark (renaming takes 0.2 ms).
  [[nodiscard]] static std::string TemporaryName(const Plug& plug, const Attachment& attachment);

 private:
  BindingConfig config_;
};

}  // namespace kuryr::binding
