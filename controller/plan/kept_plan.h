#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// The VIFs of a plan, for a process that keeps the plans of a whole cluster. Nothing of them is
/// lost. The parts that plans have in common are kept once, and some 80 bytes of each VIF.
/// Different objects may be used by different threads.
class KeptPlan {
 public:
  KeptPlan() = default;
  explicit KeptPlan(std::vector<vif::PodVif> vifs);

  [[nodiscard]] bool empty() const noexcept { return !common_; }
  [[nodiscard]] std::vector<vif::PodVif> vifs() const;

 private:
  std::string own_;  ///< the fields that tell these VIFs from others
  std::shared_ptr<const std::vector<vif::PodVif>> common_;  ///< without the values of those fields
};

}  // namespace kuryr::controller
