#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The profiles that cards run (Intel's Dynamic Device Personalization). A VF's is that of its
/// physical function. Not thread-safe.
class DdpProfiles {
 public:
  /// A physical function's ("0000:03:00.0"); empty: it tells none.
  using Ask = std::function<std::string(const std::string& function)>;

  explicit DdpProfiles(Ask ask) : ask_(std::move(ask)) {}
  /// As devlink has them: fw.app.name.
  [[nodiscard]] static DdpProfiles OfKernel();

  /// Sets ddp_profile where `resources` select by it, and asks for each physical function once.
  /// Those that tell none are logged when they are others than the last time. Throws as Ask does.
  void Fill(const std::vector<Resource>& resources, std::vector<Device>& devices);

 private:
  Ask ask_;
  std::string without_;  ///< logged last
};

}  // namespace kuryr::devices
