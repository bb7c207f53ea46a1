#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/client/request_observer.h"
#include "service/histogram.h"
#include "service/metrics_text.h"

namespace kuryr::controller::neutron {

/// The requests to Neutron and Keystone since the start. Thread-safe.
class RequestMetrics final : public RequestObserver {
 public:
  void OnRequest(RequestKind kind, std::optional<NeutronError::Kind> failure,
                 std::chrono::steady_clock::duration time) override EXCLUDES(mutex_);
  /// Writes no sample before the first request.
  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);

 private:
  using Failure = std::optional<NeutronError::Kind>;

  mutable Mutex mutex_;
  std::map<std::pair<RequestKind, Failure>, uint64_t> counts_ GUARDED_BY(mutex_);
  std::map<RequestKind, service::Histogram> times_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
