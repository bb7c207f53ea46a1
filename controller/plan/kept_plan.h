#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// The VIFs of a plan, kept by a process that does not lead. Of an active plan, only the fields
/// that Backend::Owns and Backend::Adopt read are kept, in some 110 bytes. A plan that is not
/// active is kept whole: a backend may have to write it again.
class KeptPlan {
 public:
  KeptPlan() = default;
  explicit KeptPlan(const std::vector<vif::PodVif>& vifs);

  [[nodiscard]] bool empty() const noexcept { return reduced_.empty() && !whole_; }
  [[nodiscard]] std::vector<vif::PodVif> vifs() const;

 private:
  std::string reduced_;
  std::shared_ptr<const std::vector<vif::PodVif>> whole_;
};

}  // namespace kuryr::controller
