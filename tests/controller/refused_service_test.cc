#include <gmock/gmock.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/controller/leading_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;

/// Balances no Service, and has no VIFs.
class UnbalancedBackend final : public controller::Backend, public controller::ServiceBalancer {
 public:
  std::optional<std::vector<vif::PodVif>> Reserve(const controller::PlanRequest& /*r*/) override {
    return std::nullopt;
  }
  bool Owns(const controller::Owner& /*owner*/, const vif::PodVif& /*vif*/) const override {
    return false;
  }
  void Adopt(const controller::Owner& /*owner*/, const std::vector<vif::PodVif>& /*v*/) override {}
  bool Await(const controller::Owner& /*owner*/, const std::vector<vif::PodVif>& /*v*/) override {
    return false;
  }
  bool Release(const std::string& /*owner_id*/) override { return true; }
  std::vector<controller::Owner> Inventory() const override { return {}; }
  controller::Facets facets() override { return {.services = this}; }
  void Balance(const std::string& /*name*/, const controller::Service& /*service*/) override {}
  void SetZone(const std::string& /*node*/, const std::string& /*zone*/) override {}
  std::optional<std::string> WhyNotBalanced(const std::string& name) const override {
    return "spec.ports: there is no room for " + name;
  }
};

class UnbalancedFactory final : public controller::BackendFactory {
 public:
  const char* name() const noexcept override { return "unbalanced"; }
  controller::BackendNeeds needs() const override { return {.services = true, .labels = {}}; }
  void Warn() const override {}
  std::shared_ptr<controller::Backend> Make(
      const controller::BackendHooks& /*hooks*/) const override {
    return std::make_shared<UnbalancedBackend>();
  }
};

class RefusedServiceTest : public LeadingTest {};

TEST_F(RefusedServiceTest, ItsUserIsToldWhy) {
  config_.backend = std::make_shared<UnbalancedFactory>();
  Start();

  api().Create({{"kind", "Service"},
                {"apiVersion", "v1"},
                {"metadata", {{"name", "web"}, {"namespace", "default"}}},
                {"spec", {{"clusterIPs", {"10.96.0.7"}}}}});

  EXPECT_THAT(cluster_.WaitForEvent("web", "KuryrServiceNotBalanced"),
              HasSubstr("kube-proxy serves pods, and policies do not hold: spec.ports: there is no "
                        "room for default/web"));
}

}  // namespace
}  // namespace kuryr::test
