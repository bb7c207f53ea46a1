#pragma once

#include <vector>

#include "cni/add_observer.h"
#include "cni/api_writer.h"
#include "cni/config.h"
#include "cni/pod_event.h"
#include "cni/protocol/error.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Tells the API server what becomes of a pod's ADD, as far as kuryr.conf wants it: Events, at most
/// two, and the pod's network status. That this fails is no failure of the ADD.
class PodReporter : public AddObserver {
 public:
  /// Everything is borrowed.
  PodReporter(const Request& request, const Config& config, ApiWriter& writer)
      : request_(request), config_(config), writer_(writer) {}

  void OnWaiting(const std::vector<PluggedVif>& vifs) noexcept override;
  void OnAdded(const std::vector<PluggedVif>& vifs) noexcept override;
  /// The ADD ends with `error`; `timed_out`: at its deadline.
  void OnFailed(const CniError& error, bool timed_out) noexcept;

 private:
  void Post(const PodEvent& event) const;

  const Request& request_;
  const Config& config_;
  ApiWriter& writer_;
  bool waiting_ = false;  ///< for VIFs to become active
};

}  // namespace kuryr::cni
