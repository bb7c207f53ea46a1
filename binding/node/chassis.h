#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "binding/driver_context.h"

namespace kuryr::binding {

/// One of external_ids of Open vSwitch by which ovn-controller makes the node a chassis of OVN
/// (ovn-controller(8)).
struct ChassisSetting {
  std::string key;
  std::string value;
  bool is_ours = false;  ///< the agent has set it
};

/// Those that are set.
[[nodiscard]] std::vector<ChassisSetting> FindChassis(const DriverContext& context,
                                                      const Deadline& deadline);
/// Takes back those that the agent has set, and that are as it set them. False when there was none.
bool RemoveChassis(const DriverContext& context, const Deadline& deadline);

}  // namespace kuryr::binding
