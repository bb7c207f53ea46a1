#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/openflow_connections.h"
#include "binding/parts/part.h"

namespace kuryr::binding {

/// Comes before the links of a plug with a port of Open vSwitch. Once these are made, ovs-vswitchd
/// is busy with them.
class PortNamePart final : public Part {
 public:
  /// `names` are those of links that are made, and may have been ports.
  PortNamePart(PlugSite& site, std::vector<std::string> names)
      : Part(site), names_(std::move(names)) {}

  /// Throws OvsUnreachable: with Open vSwitch down nothing is touched.
  void Require() override { site().session().Connect(); }
  void Check(Differences& /*found*/) override {}
  /// Returns when ovs-vswitchd has let go of the names.
  void Make() override;

 private:
  const std::vector<std::string> names_;
};

/// A port of Open vSwitch, whose device is a link of the host. The links are made before, and with
/// them PortSession::WaitUntilLetGo is done.
class PortPart : public Part {
 public:
  enum class Shown { kNo, kAsInterface };

  /// `shown`: whether the port's link is one of the plug's interfaces in the result.
  PortPart(PlugSite& site, std::string name, Shown shown)
      : Part(site), name_(std::move(name)), shown_(shown) {}

  void Require() override;
  void Check(Differences& found) override;
  void Make() override;
  /// Returns when ovs-vswitchd has given the port a number and its flows, and its link is up.
  [[nodiscard]] std::optional<Interface> Await() override;
  void Remove(const Attachment& owner) override;
  /// The bridge that Make made goes as well, if no other port is on it.
  void Undo() override;

 protected:
  /// The port as it is planned.
  [[nodiscard]] virtual OvsPort Wanted();
  /// Whether the port's device is the attachment's, so that its port may be mended.
  [[nodiscard]] virtual bool HasOwnDevice();

 private:
  /// Where the port has its number, and flows of ours are to see to its addresses.
  void CheckSecurity(const OvsPort& wanted, Differences& found);
  /// For a port that is gone: ovs-vswitchd gives no other port its number for an hour, and does not
  /// tell this process of failures.
  void Unsecure(uint32_t number) noexcept;
  void UseFlows(const OpenFlowConnections::Work& work);

  const std::string name_;
  const Shown shown_;
  bool is_checked_ = false;
  std::optional<PortState> there_;  ///< found by Check
  std::optional<CreatedBridge> created_bridge_;
};

}  // namespace kuryr::binding
