#pragma once

#include <vector>

#include "cni/pod/pod_result.h"

namespace kuryr::cni {

/// Hears how an ADD comes along, to tell others of it. The ADD waits meanwhile, so what takes time
/// is to be done elsewhere. Calls come from several threads, one after the other.
class AddObserver {
 public:
  virtual ~AddObserver() = default;

  /// Nobody has planned the pod's VIFs for some seconds. At most once.
  virtual void OnAwaitingVifs() noexcept = 0;
  /// Everything is plugged, but some VIF is not active yet. At most once.
  virtual void OnWaiting(const std::vector<PluggedVif>& vifs) noexcept = 0;
  /// The attachment stands.
  virtual void OnAdded(const std::vector<PluggedVif>& vifs) noexcept = 0;
};

}  // namespace kuryr::cni
