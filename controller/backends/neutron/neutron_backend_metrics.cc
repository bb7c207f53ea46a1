#include <map>
#include <string>
#include <vector>

#include "controller/backends/neutron/neutron_backend.h"

namespace kuryr::controller::neutron {
namespace {

std::string ListOf(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  return list;
}

void WritePools(const std::map<PoolKey, PoolCounts>& pools, service::MetricsText& text) {
  if (pools.empty()) return;
  PoolCounts all;
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

void NeutronBackend::WriteTo(service::MetricsText& text) const {
  text.Metric("kuryr_controller_neutron_waiting_ports", "gauge",
              "Ports of written plans that are not ACTIVE yet.", static_cast<double>(waiting()));
  text.Metric("kuryr_controller_neutron_lost_ports", "gauge",
              "Ports of active plans that Neutron has no more.", static_cast<double>(lost()));
  WritePools(pools(), text);
}

}  // namespace kuryr::controller::neutron
