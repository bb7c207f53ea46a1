#include <gmock/gmock.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/controller/bare_backend.h"
#include "tests/controller/leading_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;

/// Balances no Service, and has no VIFs.
class UnbalancedBackend final : public BareBackend, public controller::ServiceBalancer {
 public:
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
