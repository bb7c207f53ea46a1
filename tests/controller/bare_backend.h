#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/backends/backend.h"

namespace kuryr::test {

/// A backend that has no VIFs. What derives from it has facets.
class BareBackend : public controller::Backend {
 public:
  std::optional<std::vector<vif::PodVif>> Reserve(
      const controller::PlanRequest& /*request*/) override {
    return std::nullopt;
  }
  bool Owns(const controller::Owner& /*owner*/, const vif::PodVif& /*vif*/) const override {
    return false;
  }
  void Adopt(const controller::Owner& /*owner*/,
             const std::vector<vif::PodVif>& /*vifs*/) override {}
  bool Await(const controller::Owner& /*owner*/,
             const std::vector<vif::PodVif>& /*vifs*/) override {
    return false;
  }
  bool Release(const std::string& /*owner_id*/) override { return true; }
  std::vector<controller::Owner> Inventory() const override { return {}; }
};

}  // namespace kuryr::test
