#pragma once

#include <utility>
#include <vector>

#include "binding/parts/part.h"

namespace kuryr::binding {

/// A driver whose plugs consist of parts. It has one loop over them for each call.
class PartsDriver : public Driver {
 public:
  std::vector<Interface> Connect(const PlugRequest& request) final;
  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const final;
  void Disconnect(const Plug& plug, const Attachment& attachment, const Deadline& deadline) final;

 protected:
  explicit PartsDriver(DriverContext context) : context_(std::move(context)) {}

  /// The parts of the site's plug. Making the list neither looks at the node nor changes it.
  [[nodiscard]] virtual Parts PartsOf(PlugSite& site) const = 0;

  DriverContext context_;
};

}  // namespace kuryr::binding
