#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/client/neutron_client.h"
#include "controller/backends/neutron/neutron_backend.h"
#include "controller/config.h"
#include "service/metrics_text.h"

namespace kuryr::controller {

/// The backend that kuryr.conf names, with what it needs. Its end is the end of its requests.
/// Thread-safe.
class ChosenBackend {
 public:
  struct Hooks {
    std::function<void(const Owner& owner)> wake;  ///< as Backend says
    std::function<bool()> may_write;
    std::function<bool(const std::string& id)> is_scope;  ///< nothing: none is swept
    neutron::RequestObserver* observer = nullptr;         ///< of requests to Neutron; outlives it
  };

  ChosenBackend(const Config& config, const Hooks& hooks);
  ChosenBackend(const ChosenBackend&) = delete;
  ChosenBackend& operator=(const ChosenBackend&) = delete;
  ~ChosenBackend();

  [[nodiscard]] Backend& get() noexcept { return *backend_; }
  /// Null for another one.
  [[nodiscard]] const neutron::NeutronBackend* neutron() const noexcept { return neutron_; }
  void WriteTo(service::MetricsText& text) const;

 private:
  std::unique_ptr<neutron::NeutronClient> client_;
  std::unique_ptr<Backend> backend_;
  const neutron::NeutronBackend* neutron_ = nullptr;  ///< what backend_ is, or null
};

}  // namespace kuryr::controller
