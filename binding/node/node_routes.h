#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binding/node/node_plan.h"

namespace kuryr::binding {

/// The protocol (rtnetlink(7), rtm_protocol) of the agent's routes, so that it finds its own and
/// touches no others: 'K'. Neither the kernel nor iproute2 (rt_protos) has given it to a program.
inline constexpr uint8_t kNodeRouteProtocol = 75;

/// The way to a network of another node's pods, as it is.
struct NodeRoute {
  enum class State {
    kRouted,     ///< our route is there
    kMissing,    ///< our route is to be made
    kShared,     ///< a flat pool: the switch leads there, and no route is needed
    kOff,        ///< [node_network] routes is off
    kElsewhere,  ///< the node is behind a router, which has to know the way; or has no InternalIP;
                 ///< or the gateway that joins the networks is not on the management port's link
    kTaken,      ///< somebody else has a route to the network
    kRefused,
  };

  RemoteNetwork remote;
  State state = State::kMissing;
  std::string text;  ///< why there is no route of ours, or what contradicts it; or empty
};

/// All of them, in the calling thread's namespace. Throws std::system_error.
[[nodiscard]] std::vector<NodeRoute> FindNodeRoutes(const NodePlan& plan);

/// Removes all routes of the protocol in the main table. False when there was none.
bool RemoveNodeRoutes();

}  // namespace kuryr::binding
