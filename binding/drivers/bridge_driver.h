#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/shared.h"

namespace kuryr::binding {

/// VIFBridge of plugin "linux_bridge": a veth pair, its host end `vif_name` as a port of the
/// kernel's bridge. os-vif: vif_plug_linux_bridge.
class BridgeDriver final : public Driver {
 public:
  static constexpr const char* kName = "bridge";

  BridgeDriver(BindingConfig config, Shared& shared);

  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override;
  /// A missing bridge is made where the network says that os-vif should provide it.
  std::vector<Interface> Connect(const PlugRequest& request) override;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override;
  /// The bridge stays, as with os-vif.
  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override;
  /// From the marks in the attachment's namespace: with that, the veth is gone anyway.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override;
  /// From the marks on the node's ends of veth pairs: those of ports of Open vSwitch are among
  /// them.
  [[nodiscard]] std::vector<FoundPlug> FindPlugsOf(const std::string& network,
                                                   const Deadline& deadline) const override;

 private:
  BindingConfig config_;
  Shared& shared_;
};

}  // namespace kuryr::binding
