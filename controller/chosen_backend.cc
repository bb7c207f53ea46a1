#include "controller/chosen_backend.h"

#include <chrono>
#include <random>
#include <utility>

#include "controller/local/local_backend.h"

namespace kuryr::controller {

ChosenBackend::ChosenBackend(const Config& config, const Hooks& hooks) {
  if (!config.neutron) {
    backend_ = std::make_unique<local::LocalBackend>(config.pools, std::random_device()(),
                                                     std::chrono::steady_clock::now, hooks.wake);
    return;
  }
  client_ = std::make_unique<neutron::NeutronClient>(config.neutron->client, hooks.observer);
  auto backend = std::make_unique<neutron::NeutronBackend>(
      neutron::NeutronBackend::Parts{.api = *client_,
                                     .defaults = config.neutron->pods,
                                     .hooks = {.wake = hooks.wake, .may_write = hooks.may_write},
                                     .workers = config.neutron->client.max_requests});
  neutron_ = backend.get();
  backend_ = std::move(backend);
}

/// What is cut off is found by the next one that leads.
ChosenBackend::~ChosenBackend() {
  if (client_) client_->Stop();
  backend_.reset();
}

void ChosenBackend::WriteTo(service::MetricsText& text) const {
  if (neutron_ == nullptr) return;
  text.Metric("kuryr_controller_neutron_waiting_ports", "gauge",
              "Ports of written plans that are not ACTIVE yet.",
              static_cast<double>(neutron_->waiting()));
}

}  // namespace kuryr::controller
