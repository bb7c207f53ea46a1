#pragma once

#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/owners/pod_facts.h"
#include "controller/plan/plan_request.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// The interfaces in which a pod's request differs from its plan, by name. An interface that both
/// have keeps its VIF.
struct InterfaceChange {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<IpAddress> released;  ///< addresses of the removed ones

  InterfaceChange(const PlanRequest& request, const std::vector<vif::PodVif>& planned);

  [[nodiscard]] bool empty() const noexcept { return added.empty() && removed.empty(); }
  /// "added net1; removed net2, net3"
  [[nodiscard]] std::string ToString() const;
};

/// Whether the pod's annotation names other interfaces than the plan has: a change, or networks of
/// other plugins. PlanError kRefused for an annotation that cannot be read.
[[nodiscard]] bool MayHaveChanged(const PodFacts& pod, const std::vector<vif::PodVif>& planned);

}  // namespace kuryr::controller
