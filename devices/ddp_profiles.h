#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The profiles that cards run (Intel's Dynamic Device Personalization). A VF has the profile of
/// its physical function. Not thread-safe.
class DdpProfiles {
 public:
  /// Returns the profile of a physical function ("0000:03:00.0"); empty if the function reports
  /// none.
  using Ask = std::function<std::string(const std::string& function)>;

  explicit DdpProfiles(Ask ask) : ask_(std::move(ask)) {}
  /// The profiles that devlink reports as fw.app.name.
  [[nodiscard]] static DdpProfiles OfKernel();

  /// Sets ddp_profile if `resources` select by it, and asks once for each physical function. Logs
  /// the functions without a profile if they have changed since the last call. Throws as Ask does.
  void Fill(const std::vector<Resource>& resources, std::vector<Device>& devices);

 private:
  Ask ask_;
  std::string without_;  ///< logged last
};

}  // namespace kuryr::devices
