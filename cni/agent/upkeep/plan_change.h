#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "binding/drivers/binding.h"
#include "cni/attachments/attachment_record.h"
#include "cni/pod/known_pod.h"

namespace kuryr::cni {

/// The difference between the attachment of a running pod and the plan that the pod has now.
struct PlanChange {
  /// A VIF that the plan has and the record has not.
  struct Added {
    vif::PodVif vif;
    binding::Planned planned;
  };
  /// A VIF of the record to which the plan gives other addresses, routes, MTU or settings.
  struct Changed {
    size_t index = 0;  ///< in the record
    vif::PodVif vif;   ///< as the plan has it
    binding::Planned before;
    binding::Planned after;
  };

  std::vector<std::string> removed;  ///< interfaces of the record that the plan has not
  std::vector<Changed> changed;
  std::vector<Added> added;
  std::vector<std::string> refused;  ///< interfaces that only a new pod can have, and why

  [[nodiscard]] bool empty() const noexcept {
    return removed.empty() && changed.empty() && added.empty() && refused.empty();
  }
};

/// Compares them, and changes nothing. Empty where `pod` is not the record's pod, where its plan is
/// absent or cannot be read, and where the plan has not the default VIF of the record: none of that
/// unplugs a running pod.
[[nodiscard]] PlanChange FindPlanChange(const binding::Binding& binding,
                                        const AttachmentRecord& record,
                                        const std::optional<PlannedPod>& pod);

}  // namespace kuryr::cni
