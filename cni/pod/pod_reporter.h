#pragma once

#include <string>
#include <vector>

#include "cni/pod/api_writer.h"
#include "cni/pod/pod_config.h"
#include "cni/pod/pod_result.h"
#include "cni/protocol/error.h"
#include "cni/protocol/request.h"
#include "watcher/pod_event.h"

namespace kuryr::cni {

/// Tells the API server how a pod's ADD goes, as far as kuryr.conf wants it. An ADD makes at most
/// two Events, that it waits and that it fails, and sets the pod's network status. A write that
/// fails is logged, and the ADD goes on. Calls may come from several threads, one after the other.
class PodReporter {
 public:
  /// Everything is borrowed.
  PodReporter(const Request& request, const ReportConfig& config, const std::string& node_name,
              ApiWriter& writer)
      : request_(request), config_(config), node_name_(node_name), writer_(writer) {}

  /// The pod's VIFs have not been planned for some seconds.
  void OnAwaitingVifs() noexcept;
  /// Everything is plugged, and some VIF is not active yet.
  void OnWaiting(const std::vector<PluggedVif>& vifs) noexcept;
  /// The attachment stands.
  void OnAdded(const std::vector<PluggedVif>& vifs) noexcept;
  /// The ADD ends with `error`; `timed_out`: at its deadline.
  void OnFailed(const CniError& error, bool timed_out) noexcept;

 private:
  void Post(const watcher::PodEvent& event) const;
  void TellOnce(const watcher::PodEvent& event);

  const Request& request_;
  const ReportConfig& config_;
  const std::string& node_name_;
  ApiWriter& writer_;
  bool waiting_ = false;  ///< the ADD waits for VIFs to become active
  bool told_ = false;     ///< the Event that the ADD waits was sent
};

}  // namespace kuryr::cni
