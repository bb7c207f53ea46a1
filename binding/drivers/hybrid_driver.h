#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/shared.h"

namespace kuryr::binding {

/// VIFBridge of plugin "ovs": a bridge of the kernel between the pod and Open vSwitch, on which
/// Neutron's iptables firewall stands. The pod's veth "tap…" and one end "qvb…" of a second one are
/// ports of the bridge "qbr…", the other end "qvo…" is the port of Open vSwitch.
/// os-vif: vif_plug_ovs, _plug_bridge.
class HybridDriver final : public Driver {
 public:
  static constexpr const char* kName = "hybrid";

  HybridDriver(BindingConfig config, Shared& shared);

  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override;
  std::vector<Interface> Connect(const PlugRequest& request) override;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override;
  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override;

 private:
  BindingConfig config_;
  Shared& shared_;
};

}  // namespace kuryr::binding
