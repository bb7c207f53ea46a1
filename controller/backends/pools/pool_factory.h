#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "config/config_file.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::pools {

inline constexpr const char* kBackendName = "local";

/// Makes PoolBackends from the sections [pool:NAME]. Thread-safe.
class PoolFactory final : public BackendFactory {
 public:
  /// `node_policies`: nodes enforce policies on pods for which they forward.
  explicit PoolFactory(std::vector<Pool> pools, bool node_policies = false)
      : pools_(std::move(pools)), node_policies_(node_policies) {}

  [[nodiscard]] const char* name() const noexcept override { return kBackendName; }
  /// The networks of nodes, if a pool takes them, and the labels by which pools choose pods.
  [[nodiscard]] BackendNeeds needs() const override;
  void Warn() const override;
  [[nodiscard]] std::shared_ptr<Backend> Make(const BackendHooks& hooks) const override;

  [[nodiscard]] const std::vector<Pool>& pools() const noexcept { return pools_; }

 private:
  const std::vector<Pool> pools_;
  const bool node_policies_;
};

/// Reads the pools. Throws ConfigError.
[[nodiscard]] std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                                const GetEnv& getenv);

}  // namespace kuryr::controller::pools
