#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/shared.h"

namespace kuryr::binding {

/// VIFVHostUser of plugin "ovs": a port of Open vSwitch with DPDK, whose other end is an
/// application's unix socket in [vhostuser] mount_point; no network interface. In mode client
/// ovs-vswitchd makes the socket, in mode server the application does. os-vif: vif_plug_ovs, kuryr:
/// cni/binding/vhostuser.py.
class VhostUserDriver final : public Driver {
 public:
  static constexpr const char* kName = "vhostuser";

  VhostUserDriver(BindingConfig config, Shared& shared);

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
