#pragma once

#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "binding/config.h"
#include "tests/binding/vifs.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {

/// Devices of a node, and who plays the kernel for them.
class NodeDevices {
 public:
  NodeDevices() = default;
  NodeDevices(const NodeDevices&) = delete;
  NodeDevices& operator=(const NodeDevices&) = delete;
  virtual ~NodeDevices() = default;
  /// Where drivers find them.
  virtual void Configure(BindingConfig& config) const = 0;
  /// State beyond links and OVSDB that must not change, a line each.
  [[nodiscard]] virtual std::set<std::string> State() const = 0;
};

/// One way in which a driver plugs a pod, for tests that every driver has to pass.
struct PlugScenario {
  enum class Bridge { kThere, kOfOvsToBeMade, kOfKernelToBeMade };

  std::string name;
  /// The VIF of pod `n`. Bridges are br-int and br-lan, the parent link is "uplink".
  vif::Vif (*vif)(int n) = nullptr;
  /// Whether the pods' bridge is the first Connect's to make; it stays after the last pod.
  Bridge bridge = Bridge::kThere;
  /// The address that pod 1 pings: "10.1.0.2" is pod 2, "10.1.0.254" behind the uplink; empty:
  /// none.
  std::string peer = "10.1.0.2";
  bool needs_vlans = false;
  /// Makes further devices of the node; throws std::system_error where this machine can't have
  /// them.
  std::unique_ptr<NodeDevices> (*devices)(test::PrivateOvs& ovs) = nullptr;
  /// Further names that errors may have, as a regular expression.
  std::string names;
};

inline std::ostream& operator<<(std::ostream& out, const PlugScenario& scenario) {
  return out << scenario.name;
}

/// A new driver gets a line here.
inline const std::vector<PlugScenario>& PlugScenarios() {
  using Bridge = PlugScenario::Bridge;
  using vif::Vif;
  static const std::vector<PlugScenario> all = {
      {.name = "Ovs", .vif = [](int n) -> Vif { return test::OvsVif(n); }},
      {.name = "OvsWithNewBridge",
       .vif = [](int n) -> Vif { return test::OvsVif(n); },
       .bridge = Bridge::kOfOvsToBeMade},
      {.name = "Hybrid", .vif = [](int n) -> Vif { return test::HybridVif(n); }},
      {.name = "Bridge", .vif = [](int n) -> Vif { return test::BridgeVif(n); }},
      {.name = "ProvidedBridge",
       .vif = [](int n) -> Vif {
         vif::VifBridge made = test::BridgeVif(n);
         made.network->should_provide_bridge = true;
         return made;
       },
       .bridge = Bridge::kOfKernelToBeMade},
      {.name = "Macvlan", .vif = [](int n) -> Vif { return test::MacvlanVif(n); }},
      {.name = "Vlan",
       .vif = [](int n) -> Vif { return test::VlanVif(n, static_cast<uint16_t>(100 + n)); },
       .peer = "10.1.0.254",
       .needs_vlans = true},
  };
  return all;
}

}  // namespace kuryr::binding
