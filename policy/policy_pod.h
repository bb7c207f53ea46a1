#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policy/label_selector.h"
#include "policy/network_policy.h"

namespace kuryr::policy {

/// A pod as policies see it.
struct PolicyPod {
  struct NamedPort {
    PortName name;
    uint16_t number = 0;

    bool operator==(const NamedPort&) const = default;
  };

  std::string uid;
  std::string name_space;
  Labels labels;
  /// In the order of its containers. If a name stands there twice with one protocol, the first
  /// counts, as for a Service's targetPort (FindPort of Kubernetes).
  std::vector<NamedPort> ports;

  bool operator==(const PolicyPod&) const = default;
};

/// The pod of the API's object; nullopt if no policy is for it: it is in its node's network. A pod
/// whose status says that it has ended counts: whoever may write a pod's status may say that.
[[nodiscard]] std::optional<PolicyPod> PolicyPodOf(const nlohmann::json& pod);

/// The labels of any object of the API.
[[nodiscard]] Labels LabelsOf(const nlohmann::json& object);

}  // namespace kuryr::policy
