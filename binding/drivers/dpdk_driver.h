#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/sysfs.h"

namespace kuryr::binding {

/// VIFDPDKNested and VIFNestedDPDK, of plugin "noop" or none: a PCI device of the node, found by
/// the VIF's MAC, that the kernel's network driver gives up for a pod with DPDK. No network
/// interface remains. kuryr: cni/binding/dpdk.py.
class DpdkDriver final : public Driver {
 public:
  static constexpr const char* kName = "dpdk";

  explicit DpdkDriver(BindingConfig config);

  /// Looks for the device: throws std::system_error when no or more than one has the MAC.
  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override;
  std::vector<Interface> Connect(const PlugRequest& request) override;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override;
  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override;
  /// From the file of the attachment's own interface.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override;

 private:
  void GiveBack(const vif::PciAddress& device) const;

  BindingConfig config_;
  Sysfs sysfs_;
};

}  // namespace kuryr::binding
