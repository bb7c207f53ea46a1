#include "controller/backends/chosen_backend.h"

#include <chrono>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller {

ChosenBackend::ChosenBackend(const Config& config, const Hooks& hooks) {
  if (!config.neutron) {
    backend_ = std::make_unique<pools::PoolBackend>(config.pools, std::random_device()(),
                                                    std::chrono::steady_clock::now, hooks.wake);
    return;
  }
  client_ = std::make_unique<neutron::NeutronClient>(config.neutron->client, hooks.observer);
  auto backend = std::make_unique<neutron::NeutronBackend>(neutron::NeutronBackend::Parts{
      .api = *client_,
      .defaults = config.neutron->pods,
      .hooks = {.wake = hooks.wake, .may_write = hooks.may_write, .is_scope = hooks.is_scope},
      .workers = config.neutron->client.max_requests});
  neutron_ = backend.get();
  backend_ = std::move(backend);
}

/// What is cut off is found by the next one that leads.
ChosenBackend::~ChosenBackend() {
  if (client_) client_->Stop();
  backend_.reset();
}

namespace {

std::string ListOf(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  return list;
}

void WritePools(const std::map<neutron::PoolKey, neutron::PoolCounts>& pools,
                service::MetricsText& text) {
  if (pools.empty()) return;
  neutron::PoolCounts all;
  text.Head("kuryr_controller_neutron_pool_ports", "gauge", "Ports that are ready for pods.");
  for (const auto& [key, counts] : pools) {
    text.Sample("kuryr_controller_neutron_pool_ports",
                {{"place", key.place}, {"subnets", ListOf(key.subnets)}},
                static_cast<double>(counts.ready));
    all.Add(counts);
  }
  text.Metric("kuryr_controller_neutron_pool_claims_total", "counter",
              "Ready ports that became pods'.", static_cast<double>(all.claims));
  text.Metric("kuryr_controller_neutron_pool_conflicts_total", "counter",
              "Ready ports that somebody else had by then.", static_cast<double>(all.conflicts));
  text.Metric("kuryr_controller_neutron_pool_misses_total", "counter",
              "Interfaces that found no port ready.", static_cast<double>(all.misses));
  text.Metric("kuryr_controller_neutron_pool_returns_total", "counter",
              "Released ports that are ready again.", static_cast<double>(all.returns));
  text.Head("kuryr_controller_neutron_pool_fills_total", "counter", "Fills of a pool.");
  text.Sample("kuryr_controller_neutron_pool_fills_total", {{"outcome", "ok"}},
              static_cast<double>(all.fills));
  text.Sample("kuryr_controller_neutron_pool_fills_total", {{"outcome", "failed"}},
              static_cast<double>(all.failed_fills));
}

}  // namespace

void ChosenBackend::WriteTo(service::MetricsText& text) const {
  if (neutron_ == nullptr) return;
  text.Metric("kuryr_controller_neutron_waiting_ports", "gauge",
              "Ports of written plans that are not ACTIVE yet.",
              static_cast<double>(neutron_->waiting()));
  text.Metric("kuryr_controller_neutron_lost_ports", "gauge",
              "Ports of active plans that Neutron has no more.",
              static_cast<double>(neutron_->lost()));
  WritePools(neutron_->pools(), text);
}

}  // namespace kuryr::controller
