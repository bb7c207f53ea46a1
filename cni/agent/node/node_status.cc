#include <nlohmann/json.hpp>

#include "cni/agent/node/node_network.h"

namespace kuryr::cni {
namespace {

using binding::NodeRoute;
using nlohmann::json;

const char* WordOf(NodeRoute::State state) {
  switch (state) {
    case NodeRoute::State::kRouted:
      return "routed";
    case NodeRoute::State::kMissing:
      return "missing";
    case NodeRoute::State::kShared:
      return "shared";
    case NodeRoute::State::kOff:
      return "off";
    case NodeRoute::State::kElsewhere:
      return "elsewhere";
    case NodeRoute::State::kTaken:
      return "taken";
    case NodeRoute::State::kRefused:
      return "refused";
  }
  return "unknown";
}

json DescribeRoute(const NodeRoute& route) {
  return {{"node", route.remote.node},
          {"network", route.remote.network.ToString()},
          {"via", route.remote.via ? json(route.remote.via->ToString()) : json(nullptr)},
          {"state", WordOf(route.state)},
          {"reason", route.text.empty() ? json(nullptr) : json(route.text)}};
}

}  // namespace

json NodeNetwork::Describe() const {
  if (!config_.node_network.enabled) return nullptr;
  json described = {{"interface", config_.node_network.interface},
                    {"problems", json::array()},
                    {"routes", json::array()},
                    {"chassis", json::array()}};
  const MutexLock lock(mutex_);
  if (!state_) {
    described["problems"].push_back("the API server has not listed the nodes yet");
    return described;
  }
  for (const std::string& problem : state_->problems) described["problems"].push_back(problem);
  if (!state_->plan) {
    if (state_->problems.empty())
      described["problems"].push_back("plan: Node " + config_.node_name + " has none for " +
                                      config_.node_network.interface + ": kuryr-controller has " +
                                      "not written one, or its [node_network] is off");
    return described;
  }
  const binding::ManagementPort& port = state_->plan->port;
  described["bridge"] = port.bridge;
  described["mac"] = port.mac.ToString();
  described["mtu"] = port.mtu ? json(*port.mtu) : json(nullptr);
  described["port"] = port.interface_id;
  described["active"] = state_->is_active;
  for (const IpNetwork& address : port.addresses)
    described["addresses"].push_back(address.ToString());
  for (const NodeRoute& route : state_->routes) described["routes"].push_back(DescribeRoute(route));
  for (const binding::ChassisSetting& setting : state_->chassis)
    described["chassis"].push_back(
        {{"key", setting.key}, {"value", setting.value}, {"ours", setting.is_ours}});
  return described;
}

}  // namespace kuryr::cni
