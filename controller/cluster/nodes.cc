#include "controller/cluster/nodes.h"

#include <nlohmann/json.hpp>

#include "base/chassis_mark.h"
#include "base/error.h"
#include "base/json.h"
#include "controller/plan/plan_error.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";

std::string NodePath(const std::string& node) { return "/api/v1/nodes/" + node; }

[[noreturn]] void ThrowLacks(const std::string& node, const std::string& what) {
  throw PlanError(PlanError::Kind::kRetry, "node " + Printable(node) + what);
}

/// A pod may name a node that is yet to come, and no event tells when it has come.
NodeFacts Read(const std::string& node, watcher::ApiClient& client) {
  try {
    return NodeFactsOf(client.Get(NodePath(node)));
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    ThrowLacks(node, " is not there");
  }
}

}  // namespace

NodeFacts NodeFactsOf(const json& node) {
  NodeFacts facts;
  const json cidrs = node.value("/spec/podCIDRs"_json_pointer, json::array());
  for (const json& cidr : cidrs) {
    const auto network =
        cidr.is_string() ? IpNetwork::Parse(cidr.get<std::string>()) : std::nullopt;
    if (network) facts.pod_cidrs.push_back(*network);
  }
  const json listed = node.value("/status/addresses"_json_pointer, json::array());
  for (const json& entry : listed) {
    if (!entry.is_object() || StringAt(entry, "type") != "InternalIP") continue;
    if (const auto address = IpAddress::Parse(StringAt(entry, "address")))
      facts.addresses.push_back(*address);
  }
  const json info = node.value("/status/nodeInfo"_json_pointer, json::object());
  if (info.is_object()) facts.machine = CheckedMachine(StringAt(info, "machineID"));
  facts.zone = StringAt(MemberAt(MemberAt(node, "metadata"), "labels"), kZoneLabel);
  return facts;
}

template <typename Fact>
std::vector<Fact> Nodes::Find(const std::string& node, watcher::ApiClient& client,
                              std::vector<Fact> NodeFacts::* wanted) {
  {
    const MutexLock lock(mutex_);
    const auto known = known_.find(node);
    const bool is_fresh = known != known_.end() && now_() < known->second.until;
    if (is_fresh && !(known->second.facts.*wanted).empty()) return known->second.facts.*wanted;
  }
  const NodeFacts facts = Read(node, client);
  const MutexLock lock(mutex_);
  std::erase_if(known_, [now = now_()](const auto& entry) { return now >= entry.second.until; });
  known_.insert_or_assign(node, Known{facts, now_() + kFresh});
  return facts.*wanted;
}

std::vector<IpNetwork> Nodes::PodCidrsOf(const std::string& node, watcher::ApiClient& client) {
  std::vector<IpNetwork> cidrs = Find(node, client, &NodeFacts::pod_cidrs);
  if (!cidrs.empty()) return cidrs;
  ThrowLacks(node,
             " has no spec.podCIDRs: start kube-controller-manager with --allocate-node-cidrs, or "
             "give the pool a cidr");
}

std::vector<IpAddress> Nodes::AddressesOf(const std::string& node, watcher::ApiClient& client) {
  std::vector<IpAddress> addresses = Find(node, client, &NodeFacts::addresses);
  if (!addresses.empty()) return addresses;
  ThrowLacks(node,
             " has no status.addresses of type InternalIP: its kubelet, or the cloud controller, "
             "writes them");
}

std::optional<std::string> FindMachine(const std::string& node, watcher::ApiClient& client) {
  try {
    return NodeFactsOf(client.Get(NodePath(node))).machine;
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kNotFound) return std::nullopt;
    throw;
  }
}

bool IsNodeGone(const std::string& node, watcher::ApiClient& client) {
  try {
    (void)client.GetText(NodePath(node));
    return false;
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kNotFound) return true;
    throw;
  }
}

}  // namespace kuryr::controller
