#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/shared.h"

namespace kuryr::binding {

/// VIFOpenVSwitch of plugin "ovs": a veth pair, its host end `vif_name` as a port of the bridge.
/// os-vif: vif_plug_ovs; Neutron and OVN find the port by external_ids:iface-id.
class OvsDriver final : public Driver {
 public:
  static constexpr const char* kName = "ovs";

  /// The files for ssl: become those of the whole process (libopenvswitch has one set).
  OvsDriver(BindingConfig config, Shared& shared);

  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override;
  std::vector<Interface> Connect(const PlugRequest& request) override;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override;
  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override;
  /// From the ports' external_ids: also those of other drivers, whose ports say so.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override;
  /// Of every network, and of every driver that makes ports.
  [[nodiscard]] std::vector<FoundPlug> FindAllPlugs(const Deadline& deadline) const;
  [[nodiscard]] std::vector<FoundPlug> FindPlugsOf(const std::string& network,
                                                   const Deadline& deadline) const override;
  /// Why no port could be made on `bridge` now; nullopt when one could.
  [[nodiscard]] std::optional<std::string> FindProblem(const std::string& bridge,
                                                       const Deadline& deadline) const;

 private:
  [[nodiscard]] std::vector<FoundPlug> FindPlugsWith(const ExternalIds& ids,
                                                     const Deadline& deadline) const;
  BindingConfig config_;
  Shared& shared_;
};

}  // namespace kuryr::binding
