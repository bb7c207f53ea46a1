#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/config_file.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::pools {

inline constexpr const char* kBackendName = "local";

/// Makes PoolBackends from the sections [pool:NAME]. Thread-safe.
class PoolFactory final : public BackendFactory {
 public:
  explicit PoolFactory(std::vector<Pool> pools) : pools_(std::move(pools)) {}

  [[nodiscard]] const char* name() const noexcept override { return kBackendName; }
  /// Networks of nodes where a pool takes them; the labels by which pools choose pods.
  [[nodiscard]] BackendNeeds needs() const override;
  void Warn() const override;
  [[nodiscard]] std::shared_ptr<Backend> Make(const BackendHooks& hooks) const override;

  [[nodiscard]] const std::vector<Pool>& pools() const noexcept { return pools_; }

 private:
  const std::vector<Pool> pools_;
};

/// Throws ConfigError.
[[nodiscard]] std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                                const GetEnv& getenv);

}  // namespace kuryr::controller::pools
