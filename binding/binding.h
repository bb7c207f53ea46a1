#pragma once

#include <string>
#include <vector>

#include "binding/config.h"
#include "binding/driver.h"
#include "binding/ovs_driver.h"

namespace kuryr::binding {

/// Makes VIFs true on this node: the driver by the VIF's type (and back, by the plug's driver).
/// Keeps no state and no connection between calls. Thread-safe.
class Binding {
 public:
  explicit Binding(BindingConfig config);

  /// Changes nothing. Throws ParseError for a VIF that lacks something, UnsupportedVif.
  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const;
  /// All or nothing, as Driver::Connect.
  std::vector<Interface> Connect(const vif::Vif& vif, const Plug& plug,
                                 const Attachment& attachment, const Netns& pod, bool is_default,
                                 const Deadline& deadline);
  /// Idempotent, as Driver::Disconnect. Throws UnsupportedVif for a driver that there is not.
  void Disconnect(const Plug& plug, const Attachment& attachment, const Deadline& deadline);
  /// What the node itself says of an attachment whose record is lost. `attachment` needs no pod.
  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment, const Deadline& deadline);

 private:
  OvsDriver ovs_;
};

}  // namespace kuryr::binding
