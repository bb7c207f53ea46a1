#include "cni/agent/node/node_network.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "binding/netlink/route_socket.h"
#include "cni/failure.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using binding::NodePart;
using binding::NodePlan;
using Clock = RepairHistory::Clock;

constexpr const char* kKey = "own";
constexpr std::chrono::minutes kNodeLookEvery{5};
/// The time from an event to the look: more events follow the first one.
constexpr std::chrono::milliseconds kNodeSettle{100};
/// The time that one try may take: the upkeep's other work waits for it.
constexpr std::chrono::seconds kTryTime{5};

NodeRegistry::StandingRoutes FindStandingRoutes(const Config& config) {
  NodeRegistry::StandingRoutes standing;
  if (!config.node_network.enabled) return standing;
  binding::RouteSocket host;
  const auto port = host.FindLink(config.node_network.interface);
  for (const auto& [link, route] : host.RoutesOfProtocol(binding::kNodeRouteProtocol)) {
    const bool is_joined = port && link == port->index;
    standing.emplace(route.destination.Masked(), is_joined ? std::nullopt : route.gateway);
  }
  return standing;
}

}  // namespace

NodeNetwork::NodeNetwork(const NodeContext& node, const Config& config)
    : node_(node),
      config_(config),
      report_(config, node.writer),
      stranded_(node, config),
      registry_(config.node_name, config.node_network.interface, FindStandingRoutes(config),
                [this] { upkeep_->AddAfter(*this, kKey, kNodeSettle); }) {
  pipeline_.Register(registry_);
}

void NodeNetwork::Begin(Upkeep& upkeep) { upkeep.AddAfter(*this, kKey, 0ms); }

void NodeNetwork::Start(Upkeep& upkeep) {
  if (!config_.node_network.enabled) return;
  upkeep_ = &upkeep;
  watcher_.emplace(config_.api, pipeline_, [](const std::exception_ptr& failure) {
    const std::string why = AsCniError(failure).what();
    Log(LogLevel::kDebug, "the nodes cannot be watched", {{"error", why}});
  });
  watcher_->Add("/api/v1/nodes", watcher::WatchMode::kSet);
  watcher_->Start();
  watcher_->CatchUp([this] { registry_.SetComplete(); });
  events_.emplace(config_.node_network.interface, config_.binding.ovsdb_connection,
                  [this] { upkeep_->AddAfter(*this, kKey, kNodeSettle); });
}

void NodeNetwork::Stop() {
  events_.reset();
  if (watcher_) watcher_->Stop();
}

bool NodeNetwork::Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) {
  const Deadline limit = deadline.AtMost(kTryTime);
  if (!config_.node_network.enabled) return TakeBack("[node_network] enabled is off", limit);
  upkeep.AddAfter(*this, key, kNodeLookEvery);
  const KnownNodes nodes = registry_.Nodes();
  // Before, a route to a node that is not listed yet would be taken for a stale one.
  if (!nodes.is_complete) return true;
  if (!nodes.vif && nodes.problem.empty()) return TakeBack("the Node has no plan", limit);
  return Keep(nodes, limit);
}

NodePlan NodeNetwork::PlanOf(const KnownNodes& nodes) const {
  return {.name = config_.node_name,
          .machine = nodes.machine,
          .port = binding::PlanManagementPort(nodes.vif.value(), config_.binding),
          .addresses = nodes.addresses,
          .others = nodes.others,
          .options = config_.node_network,
          .chassis = config_.chassis};
}

bool NodeNetwork::Keep(const KnownNodes& nodes, const Deadline& deadline) {
  State state;
  if (!nodes.problem.empty()) {
    state.problems = {"plan: " + nodes.problem};
    Publish(std::move(state));
    return true;
  }
  try {
    state.plan = PlanOf(nodes);
  } catch (const std::exception& e) {
    // The earlier port stays: it may be of use, and the next plan may be right.
    state.problems = {std::string("plan: ") + e.what()};
    Publish(std::move(state));
    return true;
  }
  state.is_active = vif::IsActive(*nodes.vif);
  bool is_done = true;
  for (const auto& part : NodePartsOf(*state.plan, node_.binding.context())) {
    std::string problem;
    try {
      problem = Treat(*part, *state.plan, nodes.uid, deadline);
    } catch (const std::exception& e) {
      problem = e.what();
      is_done = false;
    }
    if (!problem.empty()) state.problems.push_back(std::string(part->name()) + ": " + problem);
  }
  try {
    const std::string stranded = stranded_.Find(nodes.vif->vif, state.plan->port.Networks());
    if (!stranded.empty()) state.problems.push_back("pods: " + stranded);
    state.routes = binding::FindNodeRoutes(*state.plan);
    if (config_.chassis.is_managed)
      state.chassis = binding::FindChassis(node_.binding.context(), deadline);
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "the node's network cannot be read", {{"error", e.what()}});
  }
  Publish(std::move(state));
  return is_done;
}

std::string NodeNetwork::Treat(NodePart& part, const NodePlan& plan, const std::string& uid,
                               const Deadline& deadline) {
  Part& known = parts_[part.name()];
  binding::Differences found = part.Check(deadline);
  if (found.empty()) {
    (void)known.history.Settle(Clock::now());
    known.made = plan;
    return "";
  }
  // Another plan may end what made the earlier one fail.
  if (std::exchange(known.tried, plan) != plan) known.history.EndWait();
  const auto wait = known.history.WaitAt(Clock::now());
  if (wait > Clock::duration::zero()) {
    upkeep_->AddAfter(*this, kKey, wait);
    return known.problem;
  }
  const bool is_repair = known.made == plan;
  if (is_repair) {
    const auto verdict = known.history.Judge(found, Clock::now());
    if (verdict == RepairHistory::Verdict::kGiveUp)
      report_.Tell(part.name(), found, NodeReport::Outcome::kContested, uid);
    if (verdict != RepairHistory::Verdict::kRepair)
      return "something undoes each repair, which waits now: " + found.front().text;
  }
  if (!Make(part, found, uid, deadline)) return known.problem;
  known.made = plan;
  if (is_repair) known.history.AddRepair(found, Clock::now());
  report_.Tell(part.name(), found,
               is_repair ? NodeReport::Outcome::kRepaired : NodeReport::Outcome::kMade, uid);
  return "";
}

bool NodeNetwork::Make(NodePart& part, const binding::Differences& found, const std::string& uid,
                       const Deadline& deadline) {
  Part& known = parts_[part.name()];
  try {
    part.Make(deadline);
    const binding::Differences left = part.Check(deadline);
    if (!left.empty()) throw std::runtime_error(left.front().text);
    return true;
  } catch (const std::exception& e) {
    known.problem = e.what();
    const bool is_news = known.history.AddFailure(known.problem, Clock::now());
    report_.TellFailure(part.name(), found, known.problem, is_news, uid);
    upkeep_->AddAfter(*this, kKey, known.history.WaitAt(Clock::now()));
    return false;
  }
}

bool NodeNetwork::TakeBack(const std::string& why, const Deadline& deadline) {
  parts_.clear();
  bool is_done = true;
  State state;
  try {
    if (binding::RemoveNodeParts(node_.binding.context(), deadline))
      Log(LogLevel::kInfo, "the node's network was taken back", {{"reason", why}});
  } catch (const std::exception& e) {
    state.problems = {std::string("removal: ") + e.what()};
    is_done = false;
  }
  Publish(std::move(state));
  return is_done;
}

/// Logs what is not as it should be, when it is new.
void NodeNetwork::Tell(const State& state) {
  using RouteState = binding::NodeRoute::State;
  std::set<std::string> telling;
  const auto tell = [&](const char* text, const std::string& detail) {
    if (telling.insert(detail).second && !told_.contains(detail))
      Log(LogLevel::kWarning, text, {{"detail", detail}});
  };
  for (const std::string& problem : state.problems)
    tell("the node's network is not as planned", problem);
  for (const binding::NodeRoute& route : state.routes) {
    if (!route.remote.ignored.empty())
      tell("what a Node says contradicts what was there before",
           route.remote.node + " " + route.remote.network.ToString() + ": " + route.remote.ignored);
    const bool is_trouble = route.state == RouteState::kElsewhere ||
                            route.state == RouteState::kTaken ||
                            route.state == RouteState::kRefused;
    if (is_trouble)
      tell("this node makes no route to another node's pods",
           route.remote.node + " " + route.remote.network.ToString() + ": " + route.text);
  }
  told_ = std::move(telling);
}

void NodeNetwork::Publish(State state) {
  Tell(state);
  const MutexLock lock(mutex_);
  state_ = std::move(state);
}

void NodeNetwork::WriteTo(service::MetricsText& text) const {
  if (!config_.node_network.enabled) return;
  report_.WriteTo(text);
  const MutexLock lock(mutex_);
  const bool is_ready = state_ && state_->plan && state_->problems.empty();
  const auto is_ignored = [](const binding::NodeRoute& route) {
    return !route.remote.ignored.empty() || route.state == binding::NodeRoute::State::kRefused;
  };
  text.Metric("kuryr_daemon_node_contradictions", "gauge",
              "Networks of other nodes' pods that another Node's word contradicts.",
              state_ ? static_cast<double>(
                           std::count_if(state_->routes.begin(), state_->routes.end(), is_ignored))
                     : 0);
  text.Metric("kuryr_daemon_node_network_ready", "gauge",
              "1 where the node's own network is as planned.", is_ready ? 1 : 0);
}

std::map<std::string, watcher::WatchMetrics> NodeNetwork::WatchMetrics() const {
  return watcher_ ? watcher_->Metrics() : std::map<std::string, watcher::WatchMetrics>();
}

}  // namespace kuryr::cni
