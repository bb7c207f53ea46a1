#include "controller/backends/neutron/client/request_metrics.h"

namespace kuryr::controller::neutron {

void RequestMetrics::OnRequest(RequestKind kind, std::optional<NeutronError::Kind> failure,
                               std::chrono::steady_clock::duration time) {
  const MutexLock lock(mutex_);
  ++counts_[{kind, failure}];
  times_[kind].Observe(time);
}

void RequestMetrics::WriteTo(service::MetricsText& text) const {
  const MutexLock lock(mutex_);
  if (counts_.empty()) return;
  text.Head("kuryr_controller_neutron_requests_total", "counter",
            "Requests to Neutron and Keystone.");
  for (const auto& [key, count] : counts_) {
    text.Sample("kuryr_controller_neutron_requests_total",
                {{"request", NameOf(key.first)}, {"outcome", NameOf(key.second)}},
                static_cast<double>(count));
  }
  text.Head("kuryr_controller_neutron_request_duration_seconds", "histogram",
            "Time of requests to Neutron and Keystone.");
  for (const auto& [kind, times] : times_)
    times.WriteTo(text, "kuryr_controller_neutron_request_duration_seconds",
                  {{"request", NameOf(kind)}});
}

}  // namespace kuryr::controller::neutron
