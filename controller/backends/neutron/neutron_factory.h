#pragma once

#include <memory>

#include "config/config_file.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/neutron/client/neutron_config.h"
#include "controller/backends/neutron/client/request_metrics.h"
#include "controller/backends/neutron/settings/pod_defaults.h"

namespace kuryr::controller::neutron {

inline constexpr const char* kBackendName = "neutron";

/// Makes NeutronBackends, each with a client of its own. Thread-safe.
class NeutronFactory final : public BackendFactory {
 public:
  NeutronFactory(NeutronConfig client, PodDefaults pods);

  [[nodiscard]] const char* name() const noexcept override { return kBackendName; }
  /// Addresses of nodes where pods are nested; scopes where namespaces choose networks or groups.
  [[nodiscard]] BackendNeeds needs() const override;
  void Warn() const override;
  [[nodiscard]] std::shared_ptr<Backend> Make(const BackendHooks& hooks) const override;
  /// The requests to Neutron and Keystone.
  void WriteTo(service::MetricsText& text) const override { requests_->WriteTo(text); }

  [[nodiscard]] const NeutronConfig& client() const noexcept { return client_; }
  [[nodiscard]] const PodDefaults& pods() const noexcept { return pods_; }

 private:
  const NeutronConfig client_;  ///< [neutron]
  const PodDefaults pods_;      ///< [neutron_defaults]
  const std::shared_ptr<RequestMetrics> requests_;
};

/// Throws ConfigError.
[[nodiscard]] std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                                const GetEnv& getenv);

}  // namespace kuryr::controller::neutron
