#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::controller {

/// The VIFs of a plan as long as nobody leads here: of each what Backend::Owns and Backend::Adopt
/// ask about, in some 110 bytes. Those that are not active, which a backend may have to write once
/// more, are kept as they are.
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
