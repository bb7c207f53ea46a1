#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/thread_annotations.h"
#include "controller/neutron/client/request_observer.h"
#include "service/histogram.h"
#include "service/metrics_text.h"

namespace kuryr::controller {

/// The requests to Neutron and Keystone since the start. Thread-safe.
class NeutronMetrics final : public neutron::RequestObserver {
 public:
  void OnRequest(neutron::RequestKind kind, std::optional<neutron::NeutronError::Kind> failure,
                 std::chrono::steady_clock::duration time) override EXCLUDES(mutex_);
  /// Nothing where there was no request.
  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);

 private:
  using Failure = std::optional<neutron::NeutronError::Kind>;

  mutable Mutex mutex_;
  std::map<std::pair<neutron::RequestKind, Failure>, uint64_t> counts_ GUARDED_BY(mutex_);
  std::map<neutron::RequestKind, service::Histogram> times_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
