#include "cni/agent/upkeep/repair_events.h"

#include <optional>
#include <set>
#include <string>

#include "binding/netlink/link_events.h"
#include "binding/ovs/port_events.h"
#include "binding/ovs/switch_restarts.h"
#include "cni/agent/upkeep/event_thread.h"

namespace kuryr::cni {

RepairEvents::RepairEvents(Repair& repair, Upkeep& upkeep, const Config& config) {
  const auto wake = [&repair, &upkeep](const std::optional<std::set<std::string>>& names) {
    if (names) {
      repair.Wake(upkeep, *names);
    } else {
      repair.WakeAll(upkeep);
    }
    return names.has_value();
  };
  links_ = std::jthread([wake](const std::stop_token& stop) {
    FollowEvents(stop, [] { return binding::LinkEvents(); }, wake);
  });
  ports_ =
      std::jthread([wake, remote = config.binding.ovsdb_connection](const std::stop_token& stop) {
        FollowEvents(stop, [&] { return binding::PortEvents(remote); }, wake);
      });
  if (!config.node_network.enabled || !config.binding.port_security) return;
  restarts_ = std::jthread([&repair, &upkeep, &config](const std::stop_token& stop) {
    const binding::BindingConfig& binding = config.binding;
    FollowEvents(
        stop, [&] { return binding::SwitchRestarts(binding.ovsdb_connection, binding.ovs_bridge); },
        [&](bool is_restart) {
          if (is_restart) repair.WakeAll(upkeep);
          return is_restart;
        });
  });
}

}  // namespace kuryr::cni
