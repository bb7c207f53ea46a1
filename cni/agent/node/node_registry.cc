#include "cni/agent/node/node_registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/chassis_mark.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "vif/vif.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;
using watcher::EventType;

/// A node has a network for each family; more are of use to nobody but a forger of annotations.
constexpr size_t kMostNetworks = 8;

std::vector<IpAddress> InternalIpsOf(const json& node) {
  std::vector<IpAddress> addresses;
  const json none = json::array();
  const json listed = node.value(json::json_pointer("/status/addresses"), none);
  if (!listed.is_array()) return addresses;
  for (const json& address : listed) {
    if (!address.is_object() || StringAt(address, "type") != "InternalIP") continue;
    if (const auto ip = IpAddress::Parse(StringAt(address, "address"))) addresses.push_back(*ip);
  }
  return addresses;
}

/// A node needs no more of another one, which may say of any address that it is its own.
void KeepFirstOfEachFamily(std::vector<IpAddress>& addresses) {
  std::set<IpFamily> families;
  std::erase_if(addresses,
                [&](const IpAddress& address) { return !families.insert(address.family).second; });
}

std::set<IpNetwork> PodCidrsOf(const json& node) {
  std::set<IpNetwork> cidrs;
  const json listed = node.value(json::json_pointer("/spec/podCIDRs"), json::array());
  if (!listed.is_array()) return cidrs;
  for (const json& cidr : listed) {
    const auto network =
        cidr.is_string() ? IpNetwork::Parse(cidr.get<std::string>()) : std::nullopt;
    if (network) cidrs.insert(network->Masked());
  }
  return cidrs;
}

std::string AnnotationOf(const json& node) {
  const json metadata = node.value("metadata", json::object());
  if (!metadata.is_object()) return "";
  const json annotations = metadata.value("annotations", json::object());
  return annotations.is_object() ? StringAt(annotations, std::string(vif::kVifAnnotation).c_str())
                                 : "";
}

std::string MachineOf(const json& node) {
  const json info = node.value(json::json_pointer("/status/nodeInfo"), json::object());
  return info.is_object() ? CheckedMachine(StringAt(info, "machineID")) : "";
}

std::vector<IpNetwork> NetworksOf(const vif::VifBase& vif) {
  std::vector<IpNetwork> networks;
  for (const IpNetwork& address : vif::AddressesOf(vif)) networks.push_back(address.Masked());
  std::sort(networks.begin(), networks.end());
  networks.erase(std::unique(networks.begin(), networks.end()), networks.end());
  if (networks.size() > kMostNetworks)
    throw ParseError("$.network.subnets", "are " + std::to_string(networks.size()) +
                                              " networks, of at most " +
                                              std::to_string(kMostNetworks));
  return networks;
}

}  // namespace

std::vector<std::pair<watcher::KeyFn, std::string>> NodeRegistry::Consumes() const {
  return {{watcher::ObjectKind, "Node"}};
}

void NodeRegistry::Handle(const watcher::WatchEvent& event) {
  if (Learn(event)) on_change_();
}

bool NodeRegistry::Stands(const IpNetwork& network, const Node& node) const {
  const auto route = standing_.find(network);
  if (route == standing_.end()) return false;
  return !route->second || std::find(node.addresses.begin(), node.addresses.end(),
                                     *route->second) != node.addresses.end();
}

void NodeRegistry::Number(const Node& known, Node& node) {
  const uint64_t now = is_complete_ ? ++now_ : now_;
  for (const IpAddress& address : node.addresses) {
    const auto before = known.addresses_since.find(address);
    node.addresses_since[address] = before == known.addresses_since.end() ? now : before->second;
  }
  for (const IpNetwork& network : node.networks) {
    const auto before = known.networks_since.find(network);
    const bool is_first =
        node.pod_cidrs.contains(network) || (!is_complete_ && Stands(network, node));
    node.networks_since[network] =
        before != known.networks_since.end() ? before->second : (is_first ? 0 : now);
  }
}

/// Whether it is news: a kubelet writes its Node's status every few minutes.
bool NodeRegistry::Learn(const watcher::WatchEvent& event) {
  const bool is_gone = event.type == EventType::kDeleted;
  if (!is_gone && event.type != EventType::kAdded && event.type != EventType::kModified)
    return false;
  const MutexLock lock(mutex_);
  if (is_gone) return nodes_.erase(event.name) != 0;
  Node node = Read(event);
  Node& known = nodes_[event.name];
  Number(known, node);
  if (known == node) return false;
  if (!node.problem.empty() && node.problem != known.problem)
    Log(LogLevel::kWarning, "the plan of a node cannot be read",
        {{"node", event.name}, {"error", node.problem}});
  known = std::move(node);
  return true;
}

NodeRegistry::Node NodeRegistry::Read(const watcher::WatchEvent& event) const {
  Node node{.uid = event.uid,
            .addresses = InternalIpsOf(*event.object),
            .pod_cidrs = PodCidrsOf(*event.object)};
  if (event.name != own_name_) KeepFirstOfEachFamily(node.addresses);
  if (event.name == own_name_) node.machine = MachineOf(*event.object);
  try {
    ReadPlan(*event.object, node);
    if (event.name != own_name_) node.vif.reset();
  } catch (const std::exception& e) {
    node.problem = Printable(e.what(), 500);
    node.vif.reset();
  }
  return node;
}

void NodeRegistry::ReadPlan(const json& object, Node& node) const {
  const std::string text = AnnotationOf(object);
  if (text.empty()) return;
  const std::string path = "$.metadata.annotations['" + std::string(vif::kVifAnnotation) + "']";
  for (vif::PodVif& vif : vif::DecodeAnnotation(text, path)) {
    // A default VIF's own name is "eth0", whatever its producer called it.
    if (vif.ifname != interface_ && !vif.is_default) continue;
    vif.ifname = interface_;
    node.networks = NetworksOf(vif::Common(vif.vif));
    (void)vif::SlimDown(vif.vif);
    node.vif = std::move(vif);
  }
}

void NodeRegistry::SetComplete() {
  {
    const MutexLock lock(mutex_);
    is_complete_ = true;
  }
  on_change_();
}

KnownNodes NodeRegistry::Nodes() const {
  const MutexLock lock(mutex_);
  KnownNodes known{.is_complete = is_complete_};
  for (const auto& [name, node] : nodes_) {
    if (name != own_name_) {
      known.others.push_back({.name = name,
                              .addresses = node.addresses,
                              .networks = node.networks,
                              .addresses_since = node.addresses_since,
                              .networks_since = node.networks_since});
      continue;
    }
    known.uid = node.uid;
    known.vif = node.vif;
    known.problem = node.problem;
    known.machine = node.machine;
    known.addresses = node.addresses;
  }
  return known;
}

}  // namespace kuryr::cni
