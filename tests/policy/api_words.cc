#include "api_words.h"

#include <arpa/inet.h>

#include <algorithm>
#include <sstream>

namespace kuryr::policy {
namespace {

using nlohmann::json;

bool Selects(const json& selector, const json& labels) {
  if (selector.contains("matchLabels")) {
    for (const auto& [key, value] : selector["matchLabels"].items()) {
      if (!labels.contains(key) || labels[key] != value) return false;
    }
  }
  if (!selector.contains("matchExpressions")) return true;
  for (const json& expression : selector["matchExpressions"]) {
    const std::string key = expression["key"];
    const std::string op = expression["operator"];
    const bool has_key = labels.contains(key);
    bool has_value = false;
    if (has_key && expression.contains("values")) {
      for (const json& value : expression["values"]) has_value = has_value || value == labels[key];
    }
    if (op == "In" && !has_value) return false;
    if (op == "NotIn" && has_value) return false;
    if (op == "Exists" && !has_key) return false;
    if (op == "DoesNotExist" && has_key) return false;
  }
  return true;
}

uint32_t NumberOf(const std::string& address) {
  in_addr number{};
  ::inet_pton(AF_INET, address.c_str(), &number);
  return ntohl(number.s_addr);
}

bool IsIn(const std::string& cidr, const std::string& address) {
  const size_t slash = cidr.find('/');
  const int length = std::stoi(cidr.substr(slash + 1));
  if (length == 0) return true;
  const uint32_t mask = ~uint32_t{0} << (32 - length);
  return (NumberOf(cidr.substr(0, slash)) & mask) == (NumberOf(address) & mask);
}

bool IsInBlock(const json& block, const std::string& address) {
  if (!IsIn(block["cidr"], address)) return false;
  if (block.contains("except")) {
    for (const json& except : block["except"]) {
      if (IsIn(except, address)) return false;
    }
  }
  return true;
}

const json& LabelsIn(const json& object) { return object["metadata"]["labels"]; }

bool HasType(const json& spec, const std::string& type) {
  if (spec.contains("policyTypes") && !spec["policyTypes"].empty()) {
    const json& types = spec["policyTypes"];
    return std::find(types.begin(), types.end(), type) != types.end();
  }
  return type == "Ingress" || (spec.contains("egress") && !spec["egress"].empty());
}

}  // namespace

const json* ApiWords::PodAt(const std::string& address) const {
  for (const auto& [uid, pod] : objects_.pods) {
    const json& status = pod["status"];
    if (status["podIP"] == address) return &pod;
    for (const auto& [network, own] : status["networks"].items()) {
      if (own == address) return &pod;
    }
  }
  return nullptr;
}

ApiWords::Reach ApiWords::ReachOf(const json& policy, const ApiPacket& packet) const {
  if (packet.network.empty()) return {.isolates = true, .allows = true};
  Reach reach;
  const json& metadata = policy["metadata"];
  std::istringstream names(
      metadata["annotations"]["k8s.v1.cni.cncf.io/policy-for"].get<std::string>());
  for (std::string name; std::getline(names, name, ',');) {
    if (name.find('/') == std::string::npos)
      name.insert(0, metadata["namespace"].get<std::string>() + "/");
    const auto known = objects_.definitions.find(name);
    const bool is_known = known != objects_.definitions.end();
    if (is_known && known->second == packet.network) reach.allows = true;
    if (!is_known || known->second == packet.network) reach.isolates = true;
  }
  return reach;
}

bool ApiWords::IsPeer(const json& peer, const std::string& policy_namespace,
                      const std::string& address) const {
  if (peer.contains("ipBlock")) return IsInBlock(peer["ipBlock"], address);
  const json* pod = PodAt(address);
  if (pod == nullptr) return false;
  const std::string name_space = (*pod)["metadata"]["namespace"];
  if (peer.contains("namespaceSelector")) {
    const auto known = objects_.namespaces.find(name_space);
    if (known == objects_.namespaces.end()) return false;
    if (!Selects(peer["namespaceSelector"], LabelsIn(known->second))) return false;
  } else if (name_space != policy_namespace) {
    return false;
  }
  return !peer.contains("podSelector") || Selects(peer["podSelector"], LabelsIn(*pod));
}

bool ApiWords::IsPort(const json& port, const ApiPacket& packet) const {
  if (port.value("protocol", "TCP") != packet.protocol) return false;
  if (!port.contains("port")) return true;
  if (port["port"].is_number()) {
    const int first = port["port"];
    return first <= packet.port && packet.port <= port.value("endPort", first);
  }
  const json* pod = PodAt(packet.to);
  if (pod == nullptr) return false;
  for (const json& container : (*pod)["spec"]["containers"]) {
    for (const json& own : container["ports"]) {
      if (own["name"] == port["port"] && own.value("protocol", "TCP") == packet.protocol)
        return own["containerPort"] == packet.port;
    }
  }
  return false;
}

bool ApiWords::MayReceive(const ApiPacket& packet) const {
  return PodAt(packet.to) == nullptr || May(packet, true);
}

bool ApiWords::MaySend(const ApiPacket& packet) const {
  return PodAt(packet.from) == nullptr || May(packet, false);
}

bool ApiWords::May(const ApiPacket& packet, bool is_ingress) const {
  bool is_isolated = false;
  if (!packet.network.empty()) {
    const bool is_allowed = is_ingress ? NetworkPoliciesOnReceiving(packet, is_isolated)
                                       : NetworkPoliciesOnSending(packet, is_isolated);
    return is_allowed || !is_isolated;
  }
  const std::string action = ActionIn("Admin", packet, is_ingress);
  if (action == "Accept" || action == "Deny") return action == "Accept";
  const bool is_allowed = is_ingress ? NetworkPoliciesOnReceiving(packet, is_isolated)
                                     : NetworkPoliciesOnSending(packet, is_isolated);
  if (is_isolated) return is_allowed;
  return ActionIn("Baseline", packet, is_ingress) != "Deny";
}

std::string ApiWords::ActionIn(const std::string& tier, const ApiPacket& packet,
                               bool is_ingress) const {
  std::multimap<int, const json*> admins;  // of one priority: by kind and name
  for (const auto& [name, policy] : objects_.admins) {
    const json& spec = policy["spec"];
    const bool is_old_baseline = policy["kind"] == "BaselineAdminNetworkPolicy";
    const std::string old = is_old_baseline ? "Baseline" : "Admin";
    if (spec.value("tier", old) == tier)
      admins.emplace(is_old_baseline ? 1001 : spec["priority"].get<int>(), &policy);
  }
  for (const auto& [priority, policy] : admins) {
    const std::string action = ActionOf(*policy, packet, is_ingress);
    if (!action.empty()) return action == "Allow" ? "Accept" : action;
  }
  return "";
}

bool ApiWords::IsOneOf(const json& pods, const std::string& address) const {
  if (pods.contains("networks")) {
    for (const json& network : pods["networks"]) {
      if (IsIn(network, address)) return true;
    }
    return false;
  }
  if (pods.contains("nodes")) {
    for (const auto& [name, node] : objects_.nodes) {
      if (!Selects(pods["nodes"], LabelsIn(node))) continue;
      for (const json& own : node["status"]["addresses"]) {
        if (own["address"] == address) return true;
      }
    }
    return false;
  }
  const json* pod = PodAt(address);
  if (pod == nullptr) return false;
  const auto known = objects_.namespaces.find((*pod)["metadata"]["namespace"]);
  if (known == objects_.namespaces.end()) return false;
  if (pods.contains("namespaces")) return Selects(pods["namespaces"], LabelsIn(known->second));
  return Selects(pods["pods"]["namespaceSelector"], LabelsIn(known->second)) &&
         Selects(pods["pods"]["podSelector"], LabelsIn(*pod));
}

bool ApiWords::IsAdminPort(const json& port, const ApiPacket& packet) const {
  for (const char* named : {"namedPort", "destinationNamedPort"}) {
    if (port.contains(named))
      return packet.protocol != "ICMP" &&
             IsPort({{"port", port[named]}, {"protocol", packet.protocol}}, packet);
  }
  for (const auto& [name, protocol] : {std::pair("tcp", "TCP"), {"udp", "UDP"}, {"sctp", "SCTP"}}) {
    if (!port.contains(name)) continue;
    const json& own = port[name]["destinationPort"];
    if (packet.protocol != protocol) return false;
    if (own.contains("number")) return own["number"] == packet.port;
    return own["range"]["start"] <= packet.port && packet.port <= own["range"]["end"];
  }
  const json& numbers = port.contains("portNumber") ? port["portNumber"] : port["portRange"];
  if (numbers["protocol"] != packet.protocol) return false;
  if (port.contains("portNumber")) return numbers["port"] == packet.port;
  return numbers["start"] <= packet.port && packet.port <= numbers["end"];
}

std::string ApiWords::ActionOf(const json& policy, const ApiPacket& packet, bool is_ingress) const {
  const json& spec = policy["spec"];
  if (!IsOneOf(spec["subject"], is_ingress ? packet.to : packet.from)) return "";
  const char* const key = is_ingress ? "ingress" : "egress";
  if (!spec.contains(key)) return "";
  for (const json& rule : spec[key]) {
    bool is_addressed = false;
    bool is_chosen = is_ingress;  // A named port means nothing at addresses.
    for (const json& peer : rule[is_ingress ? "from" : "to"]) {
      if (!IsOneOf(peer, is_ingress ? packet.from : packet.to)) continue;
      is_addressed = true;
      is_chosen = is_chosen || peer.contains("namespaces") || peer.contains("pods");
    }
    if (!is_addressed) continue;
    const char* const ports = policy["kind"] == "ClusterNetworkPolicy" ? "protocols" : "ports";
    if (!rule.contains(ports)) return rule["action"];
    for (const json& port : rule[ports]) {
      const bool is_named = port.contains("namedPort") || port.contains("destinationNamedPort");
      if (IsAdminPort(port, packet) && (is_chosen || !is_named)) return rule["action"];
    }
  }
  return "";
}

bool ApiWords::NetworkPoliciesOnReceiving(const ApiPacket& packet, bool& is_isolated) const {
  const json* pod = PodAt(packet.to);
  for (const auto& [key, policy] : PoliciesFor(packet)) {
    const json& spec = policy["spec"];
    const std::string name_space = policy["metadata"]["namespace"];
    if ((*pod)["metadata"]["namespace"] != name_space || !HasType(spec, "Ingress")) continue;
    if (!Selects(spec["podSelector"], LabelsIn(*pod))) continue;
    const Reach reach = ReachOf(policy, packet);
    is_isolated = is_isolated || reach.isolates;
    if (!reach.allows || !spec.contains("ingress")) continue;
    for (const json& rule : spec["ingress"]) {
      bool has_peer = !rule.contains("from") || rule["from"].empty();
      bool has_port = !rule.contains("ports") || rule["ports"].empty();
      if (!has_peer) {
        for (const json& peer : rule["from"])
          has_peer = has_peer || IsPeer(peer, name_space, packet.from);
      }
      if (!has_port) {
        for (const json& port : rule["ports"]) has_port = has_port || IsPort(port, packet);
      }
      if (has_peer && has_port) return true;
    }
  }
  return false;
}

bool ApiWords::NetworkPoliciesOnSending(const ApiPacket& packet, bool& is_isolated) const {
  const json* pod = PodAt(packet.from);
  for (const auto& [key, policy] : PoliciesFor(packet)) {
    const json& spec = policy["spec"];
    const std::string name_space = policy["metadata"]["namespace"];
    if ((*pod)["metadata"]["namespace"] != name_space || !HasType(spec, "Egress")) continue;
    if (!Selects(spec["podSelector"], LabelsIn(*pod))) continue;
    const Reach reach = ReachOf(policy, packet);
    is_isolated = is_isolated || reach.isolates;
    if (!reach.allows || !spec.contains("egress")) continue;
    for (const json& rule : spec["egress"]) {
      // The compiler's own reading: only a pod that selectors can choose has named ports, so a
      // named port means nothing at a block, nor in a namespace that is not known.
      json peers = {{{"namespaceSelector", json::object()}}};
      const bool has_peers = rule.contains("to") && !rule["to"].empty();
      if (has_peers) peers = rule["to"];
      bool is_chosen = false;
      bool is_addressed = !has_peers;
      for (const json& peer : peers) {
        if (!IsPeer(peer, name_space, packet.to)) continue;
        is_chosen = is_chosen || !peer.contains("ipBlock");
        is_addressed = true;
      }
      if (!rule.contains("ports") || rule["ports"].empty()) {
        if (is_addressed) return true;
        continue;
      }
      for (const json& port : rule["ports"]) {
        const bool is_named = port.contains("port") && port["port"].is_string();
        if ((is_named ? is_chosen : is_addressed) && IsPort(port, packet)) return true;
      }
    }
  }
  return false;
}

}  // namespace kuryr::policy
