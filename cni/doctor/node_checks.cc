#include "cni/doctor/node_checks.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cni/protocol/agent_query.h"
#include "cni/protocol/agent_socket.h"

namespace kuryr::cni::doctor {
namespace {

using nlohmann::json;

/// In place of a pod's name. No pod matches it, so the agent's status has no pods.
constexpr const char* kNoPod = "-";
constexpr std::chrono::seconds kStatusTime{8};

json AskNodeNetwork(const Config& config) {
  const AgentReply reply =
      QueryAgent(StatusSocketOf(config.agent_socket), "status", kNoPod, kStatusTime);
  if (reply.status != 0) throw std::runtime_error(reply.out);
  return ParseJson(reply.out, {.max_bytes = kMostMessage}).at("node_network");
}

void AddToList(std::string& list, const std::string& item) {
  list.append(list.empty() ? "" : "; ").append(item);
}

Finding OwnFinding(const json& described) {
  const std::string subject = "node network";
  std::string problems;
  for (const json& problem : described.at("problems"))
    AddToList(problems, problem.get<std::string>());
  if (!problems.empty())
    return {subject, Verdict::kBad, problems, "look at kuryr-daemon status, and at its log"};
  std::string found = StringAt(described, "interface") + " on " + StringAt(described, "bridge");
  for (const json& address : described.at("addresses"))
    found.append(", ").append(address.get<std::string>());
  return {subject, Verdict::kGood, found, ""};
}

Finding RoutesFinding(const json& routes) {
  const std::string subject = "routes to other nodes' pods";
  std::string left;
  for (const json& route : routes) {
    const std::string reason = StringAt(route, "reason");
    if (!reason.empty())
      AddToList(left, StringAt(route, "node") + " " + StringAt(route, "network") + ": " + reason);
  }
  if (!left.empty())
    return {subject, Verdict::kUnknown, left, "the node's routers have to know these networks"};
  return {subject, Verdict::kGood, std::to_string(routes.size()) + " networks", ""};
}

}  // namespace

Findings CheckNodeNetwork(const Config& config) {
  if (!config.node_network.enabled) return {};
  const std::string subject = "node network";
  json described;
  try {
    described = AskNodeNetwork(config);
  } catch (const std::exception& e) {
    return {{subject, Verdict::kUnknown, e.what(), "kuryr-daemon makes it: start kuryr-daemon"}};
  }
  if (described.is_null())
    return {{subject, Verdict::kBad, "kuryr-daemon was started with [node_network] enabled off",
             "restart kuryr-daemon"}};
  return {OwnFinding(described), RoutesFinding(described.at("routes"))};
}

}  // namespace kuryr::cni::doctor
