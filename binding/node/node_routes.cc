#include "binding/node/node_routes.h"

#include <algorithm>
#include <utility>

#include "binding/netlink/route_socket.h"
#include "binding/node/node_part.h"

namespace kuryr::binding {
namespace {

using OwnRoutes = std::vector<std::pair<int, LinkRoute>>;

struct WantedRoute {
  NodeRoute route;
  int link = 0;  ///< the one that leads to the node; 0: there is no route to be
};

bool IsSame(const std::pair<int, LinkRoute>& there, const WantedRoute& wanted) {
  const auto& [link, route] = there;
  return link == wanted.link && route.destination == wanted.route.remote.network &&
         route.gateway == wanted.route.remote.via;
}

/// Decides on the route to each network.
class RouteSurvey {
 public:
  RouteSurvey(RouteSocket& host, const NodePlan& plan)
      : host_(host), plan_(plan), own_(host.RoutesOfProtocol(kNodeRouteProtocol)) {
    const auto port = host.FindLink(plan.port.name);
    port_ = port ? port->index : 0;
    const auto loopback = host.FindLink("lo");
    loopback_ = loopback ? loopback->index : 0;
    for (const RemoteNetwork& remote : RemoteNetworksOf(plan)) wanted_.push_back(Decide(remote));
  }

  [[nodiscard]] const std::vector<WantedRoute>& wanted() const { return wanted_; }

  /// The routes of the protocol that are not wanted.
  [[nodiscard]] OwnRoutes Stale() const {
    OwnRoutes stale;
    for (const auto& there : own_) {
      if (std::none_of(wanted_.begin(), wanted_.end(),
                       [&](const WantedRoute& wanted) { return IsSame(there, wanted); }))
        stale.push_back(there);
    }
    return stale;
  }

 private:
  [[nodiscard]] WantedRoute Decide(const RemoteNetwork& remote) {
    using State = NodeRoute::State;
    const auto without = [&](State state, std::string text) {
      return WantedRoute{.route = {.remote = remote, .state = state, .text = std::move(text)}};
    };
    if (!remote.refused.empty()) return without(State::kRefused, remote.refused);
    if (remote.is_shared) return without(State::kShared, "");
    if (!plan_.options.routes) return without(State::kOff, "[node_network] routes is off");
    if (!remote.via) return without(State::kElsewhere, "the node has no InternalIP of the family");
    const auto way = host_.FindRoute(*remote.via);
    if (!way || !LeadsTo(remote, *way))
      return without(State::kElsewhere, remote.via->ToString() + WhyNotTo(remote));
    if (IsTaken(remote.network))
      return without(State::kTaken, "another program has a route to the network");
    WantedRoute wanted{.route = {.remote = remote, .text = remote.ignored}, .link = way->link};
    if (std::any_of(own_.begin(), own_.end(),
                    [&](const auto& there) { return IsSame(there, wanted); }))
      wanted.route.state = State::kRouted;
    return wanted;
  }

  [[nodiscard]] bool LeadsTo(const RemoteNetwork& remote, const FoundRoute& way) const {
    if (!way.on_link || way.link == loopback_) return false;
    return remote.is_joined == (way.link == port_);
  }

  [[nodiscard]] std::string WhyNotTo(const RemoteNetwork& remote) const {
    if (remote.is_joined) return " is not on the link of " + plan_.port.name;
    return " is not on a link of this node: the routers between the nodes have to know the network";
  }

  [[nodiscard]] bool IsTaken(const IpNetwork& network) {
    const auto found = host_.FindRoute(network.address);
    return found && found->route.destination == network &&
           found->route.protocol != kNodeRouteProtocol;
  }

  RouteSocket& host_;
  const NodePlan& plan_;
  const OwnRoutes own_;
  int port_ = 0;
  int loopback_ = 0;
  std::vector<WantedRoute> wanted_;
};

class RoutePart final : public NodePart {
 public:
  explicit RoutePart(const NodePlan& plan) : plan_(plan) {}

  [[nodiscard]] const char* name() const override { return "routes"; }

  [[nodiscard]] Differences Check(const Deadline& /*deadline*/) override {
    RouteSocket host;
    const RouteSurvey survey(host, plan_);
    Differences found;
    const auto tell = [&](const IpNetwork& network, const std::string& text) {
      found.push_back({.kind = DifferenceKind::kRoute,
                       .what = network.ToString(),
                       .text = "route to " + network.ToString() + text,
                       .live_safe = true});
    };
    for (const auto& [link, route] : survey.Stale())
      tell(route.destination, " is no longer planned");
    for (const WantedRoute& wanted : survey.wanted()) {
      if (wanted.link != 0 && wanted.route.state == NodeRoute::State::kMissing)
        tell(wanted.route.remote.network, ", pods of " + wanted.route.remote.node + ", is missing");
    }
    return found;
  }

  void Make(const Deadline& /*deadline*/) override {
    RouteSocket host;
    const RouteSurvey survey(host, plan_);
    for (const auto& [link, route] : survey.Stale()) host.RemoveRoute(link, {route});
    for (const WantedRoute& wanted : survey.wanted()) {
      if (wanted.link == 0 || wanted.route.state != NodeRoute::State::kMissing) continue;
      const auto link = host.FindLink(wanted.link);
      if (!link) continue;
      host.AddRoute(*link, LinkRoute{.destination = wanted.route.remote.network,
                                     .gateway = wanted.route.remote.via,
                                     .protocol = kNodeRouteProtocol});
    }
  }

 private:
  const NodePlan& plan_;
};

}  // namespace

std::vector<NodeRoute> FindNodeRoutes(const NodePlan& plan) {
  RouteSocket host;
  const RouteSurvey survey(host, plan);
  std::vector<NodeRoute> routes;
  for (const WantedRoute& wanted : survey.wanted()) routes.push_back(wanted.route);
  return routes;
}

bool RemoveNodeRoutes() {
  RouteSocket host;
  const OwnRoutes routes = host.RoutesOfProtocol(kNodeRouteProtocol);
  for (const auto& [link, route] : routes) host.RemoveRoute(link, {route});
  return !routes.empty();
}

std::unique_ptr<NodePart> NewRoutePart(const NodePlan& plan) {
  return std::make_unique<RoutePart>(plan);
}

}  // namespace kuryr::binding
