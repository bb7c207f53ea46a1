#include "cni/agent/node/node_events.h"

#include <optional>
#include <set>

#include "binding/netlink/layer3_events.h"
#include "binding/netlink/link_events.h"
#include "binding/netlink/nft_events.h"
#include "binding/node/node_rules.h"
#include "binding/ovs/port_events.h"
#include "cni/agent/upkeep/event_thread.h"

namespace kuryr::cni {

NodeEvents::NodeEvents(const std::string& interface, const std::string& remote,
                       const std::function<void()>& wake) {
  const auto by_name = [interface, wake](const std::optional<std::set<std::string>>& names) {
    if (!names || names->contains(interface)) wake();
    return names.has_value();
  };
  const auto by_any = [wake](bool has_changed) {
    if (has_changed) wake();
    return has_changed;
  };
  links_ = std::jthread([by_name](const std::stop_token& stop) {
    FollowEvents(stop, [] { return binding::LinkEvents(); }, by_name);
  });
  ports_ = std::jthread([by_name, remote](const std::stop_token& stop) {
    FollowEvents(stop, [&] { return binding::PortEvents(remote); }, by_name);
  });
  layer3_ = std::jthread([by_any](const std::stop_token& stop) {
    FollowEvents(stop, [] { return binding::Layer3Events(); }, by_any);
  });
  rules_ = std::jthread([by_any](const std::stop_token& stop) {
    FollowEvents(stop, [] { return binding::NftEvents(binding::kNodeTable); }, by_any);
  });
}

}  // namespace kuryr::cni
