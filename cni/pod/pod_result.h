#pragma once

#include <string>
#include <vector>

#include "binding/plan/attachment.h"
#include "cni/protocol/result.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {

/// A VIF that is plugged, and the interfaces that make it up.
struct PluggedVif {
  vif::PodVif vif;
  binding::Planned planned;
  std::vector<binding::Interface> interfaces;
};

/// The result of a pod's VIFs for the runtime: every interface, every fixed IP of every subnet, the
/// routes that were made. `sandbox` is CNI_NETNS as given.
[[nodiscard]] Result MakeResult(const std::vector<PluggedVif>& vifs, const std::string& sandbox);

}  // namespace kuryr::cni
