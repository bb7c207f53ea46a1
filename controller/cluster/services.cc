#include "controller/cluster/services.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/names.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr const char* kServiceLabel = "kubernetes.io/service-name";
/// Whoever sets one of these leaves the object to another proxy, or to none.
constexpr std::array kOthersLabels = {"service.kubernetes.io/service-proxy-name",
                                      "service.kubernetes.io/headless"};
/// The API's default of sessionAffinityConfig.clientIP.timeoutSeconds.
constexpr int64_t kAffinitySeconds = 10'800;
/// An Event may go after an hour, so a problem that lasts is news again after half of it.
constexpr std::chrono::minutes kAgain{30};

int64_t NumberAt(const json& object, const char* key, int64_t otherwise) {
  const json& number = MemberAt(object, key);
  return number.is_number_integer() ? number.get<int64_t>() : otherwise;
}

std::string Lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::optional<IpAddress> IpIn(const json& text) {
  if (!text.is_string()) return std::nullopt;
  return IpAddress::Parse(text.get_ref<const std::string&>());
}

void AppendIp(const json& text, std::vector<IpAddress>& addresses) {
  if (const auto address = IpIn(text)) addresses.push_back(*address);
}

/// No packet may have it as its destination at another host. Open vSwitch refuses a translation to
/// the unspecified address, and with it all that the node gets at the same time.
bool IsNoHost(const IpAddress& address) {
  static const std::vector<IpNetwork> kNoHosts = [] {
    std::vector<IpNetwork> networks;
    for (const char* text :
         {"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32",
          "::/96", "::ffff:0:0/96", "fe80::/10", "ff00::/8"})
      networks.push_back(IpNetwork::Parse(text).value());
    return networks;
  }();
  return std::any_of(kNoHosts.begin(), kNoHosts.end(),
                     [&](const IpNetwork& network) { return network.Contains(address); });
}

const json& LabelsIn(const json& object) {
  return MemberAt(MemberAt(object, "metadata"), "labels");
}

bool IsLeftToOthers(const json& object) {
  const json& labels = LabelsIn(object);
  return std::any_of(kOthersLabels.begin(), kOthersLabels.end(), [&](const char* label) {
    return labels.is_object() && labels.contains(label);
  });
}

/// The node's name is to be part of names of rows.
std::string NodeOf(const json& endpoint) {
  std::string node = StringAt(endpoint, "nodeName");
  return IsDnsName(node) ? node : "";
}

/// The names in the endpoint's hints of that kind.
std::set<std::string> HintsIn(const json& endpoint, const char* kind, size_t most) {
  std::set<std::string> names;
  for (const json& hint : MemberAt(MemberAt(endpoint, "hints"), kind)) {
    if (names.size() == most) break;
    std::string name = StringAt(hint, "name");
    if (!name.empty()) names.insert(std::move(name));
  }
  return names;
}

/// One of the endpoint's conditions; `otherwise`: it is not known.
bool Is(const json& endpoint, const char* condition, bool otherwise) {
  const json& value = MemberAt(MemberAt(endpoint, "conditions"), condition);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

}  // namespace

Services::SpecPort Services::PortOf(const json& port) {
  SpecPort parsed{.name = StringAt(port, "name"),
                  .protocol = Lowercase(StringAt(port, "protocol"))};
  if (parsed.protocol.empty()) parsed.protocol = "tcp";
  const int64_t number = NumberAt(port, "port", 0);
  if (number > 0 && number <= UINT16_MAX) parsed.port = static_cast<uint16_t>(number);
  return parsed;
}

Services::Spec Services::SpecOf(const json& object) {
  const json& spec = MemberAt(object, "spec");
  Spec parsed;
  if (IsLeftToOthers(object)) return parsed;
  for (const json& address : MemberAt(spec, "clusterIPs")) AppendIp(address, parsed.cluster_ips);
  if (parsed.cluster_ips.empty()) AppendIp(MemberAt(spec, "clusterIP"), parsed.cluster_ips);
  if (StringAt(spec, "type") == "ExternalName") parsed.cluster_ips.clear();
  if (StringAt(spec, "sessionAffinity") == "ClientIP") {
    const json& config = MemberAt(MemberAt(spec, "sessionAffinityConfig"), "clientIP");
    parsed.affinity = std::chrono::seconds(NumberAt(config, "timeoutSeconds", kAffinitySeconds));
  }
  parsed.local = StringAt(spec, "internalTrafficPolicy") == "Local";
  for (const json& port : MemberAt(spec, "ports")) parsed.ports.push_back(PortOf(port));
  return parsed;
}

std::optional<Services::Condition> Services::ConditionOf(const json& endpoint) {
  if (Is(endpoint, "ready", true)) return Condition::kReady;
  if (!Is(endpoint, "terminating", false)) return Condition::kNotReady;
  if (Is(endpoint, "serving", true)) return Condition::kServesAtItsEnd;
  return std::nullopt;
}

Services::Slice Services::SliceOf(const watcher::WatchEvent& event) {
  const json& object = *event.object;
  const std::string service = StringAt(LabelsIn(object), kServiceLabel);
  Slice slice;
  if (service.empty() || IsLeftToOthers(object) || StringAt(object, "addressType") == "FQDN")
    return slice;
  slice.service = event.name_space + "/" + service;
  for (const json& port : MemberAt(object, "ports")) slice.ports.push_back(PortOf(port));
  for (const json& endpoint : MemberAt(object, "endpoints")) {
    const auto condition = ConditionOf(endpoint);
    const json& addresses = MemberAt(endpoint, "addresses");
    if (!condition || !addresses.is_array() || addresses.empty()) continue;
    // All addresses of an endpoint are of the same pod: the first is enough.
    const auto address = IpIn(addresses.front());
    if (!address || IsNoHost(*address)) continue;
    slice.endpoints.push_back({.address = *address,
                               .node = NodeOf(endpoint),
                               .condition = *condition,
                               .for_nodes = HintsIn(endpoint, "forNodes", kMostHints),
                               .for_zones = HintsIn(endpoint, "forZones", kMostHints)});
  }
  return slice;
}

std::vector<WatchedPath> Services::Paths() {
  if (!is_balanced_) return {};
  constexpr const char* kForbidden = "services and endpointslices, which pods do not reach";
  return {{.path = "/api/v1/services", .forbidden = kForbidden},
          {.path = "/apis/discovery.k8s.io/v1/endpointslices", .forbidden = kForbidden},
          {.path = "/apis/discovery.k8s.io/v1beta1/endpointslices", .forbidden = kForbidden}};
}

std::vector<std::pair<watcher::KeyFn, std::string>> Services::Consumes() const {
  return {{watcher::ObjectKind, "Service"}, {watcher::ObjectKind, "EndpointSlice"}};
}

void Services::Handle(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (event.kind == "Service") {
    HandleService(event);
  } else {
    HandleSlice(event);
  }
}

void Services::HandleService(const watcher::WatchEvent& event) {
  const std::string key = event.name_space + "/" + event.name;
  if (event.type == watcher::EventType::kDeleted) {
    const auto known = services_.find(key);
    if (known == services_.end()) return;
    known->second.spec.reset();
  } else {
    Known& known = services_[key];
    known.uid = event.uid;
    known.spec = SpecOf(*event.object);
  }
  Tell(key);
}

void Services::HandleSlice(const watcher::WatchEvent& event) {
  const std::string key =
      StringAt(*event.object, "apiVersion") + "/" + event.name_space + "/" + event.name;
  Slice slice = event.type == watcher::EventType::kDeleted ? Slice() : SliceOf(event);
  const auto old = slices_.find(key);
  if (old != slices_.end() && old->second.service != slice.service) RemoveSlice(key);
  if (slice.service.empty()) return;
  const std::string service = slice.service;
  services_[service].slices.insert(key);
  slices_[key] = std::move(slice);
  Tell(service);
}

void Services::RemoveSlice(const std::string& key) {
  const auto slice = slices_.find(key);
  const std::string service = slice->second.service;
  slices_.erase(slice);
  services_[service].slices.erase(key);
  Tell(service);
}

Services::Served Services::AllOf(const Known& known, const SpecPort& port, size_t most) const {
  Served all;
  for (const std::string& key : known.slices) {
    const Slice& slice = slices_.at(key);
    const auto found =
        std::find_if(slice.ports.begin(), slice.ports.end(), [&](const SpecPort& known_port) {
          return known_port.name == port.name && known_port.protocol == port.protocol;
        });
    if (found == slice.ports.end() || found->port == 0) continue;
    for (const Endpoint& endpoint : slice.endpoints) {
      if (all.size() == most) return all;
      const ServiceEndpoint one = {endpoint.address, found->port,
                                   known.spec->local ? endpoint.node : ""};
      const auto [at, is_new] = all.emplace(one, &endpoint);
      if (!is_new && endpoint.condition < at->second->condition) at->second = &endpoint;
    }
  }
  return all;
}

Services::Served Services::Serving(const Known& known, const SpecPort& port, Room& room) const {
  Served serving = AllOf(known, port, room.looks);
  room.looks -= serving.size();
  std::set<std::string> ready_nodes;
  for (const auto& [one, endpoint] : serving) {
    if (endpoint->condition == Condition::kReady) ready_nodes.insert(one.node);
  }
  std::map<std::string, size_t> counts;  // by node
  std::erase_if(serving, [&](const auto& entry) {
    const auto& [one, endpoint] = entry;
    const auto wanted =
        ready_nodes.contains(one.node) ? Condition::kReady : Condition::kServesAtItsEnd;
    if (endpoint->condition != wanted || room.endpoints == 0 ||
        counts[one.node] == ServicePort::kMostEndpoints)
      return true;
    ++counts[one.node];
    --room.endpoints;
    return false;
  });
  return serving;
}

void Services::Prefer(const Served& served, IpFamily family,
                      std::set<std::string> Endpoint::* hints, EndpointsByClient& preferred) {
  EndpointsByClient of_family;
  for (const auto& [one, endpoint] : served) {
    if (one.address.family != family) continue;
    if (endpoint->condition != Condition::kReady || (endpoint->*hints).empty()) return;
    for (const std::string& client : endpoint->*hints) of_family[client].push_back(one);
  }
  for (const auto& [client, endpoints] : of_family) {
    auto& of_client = preferred[client];
    of_client.insert(of_client.end(), endpoints.begin(), endpoints.end());
  }
}

ServicePort Services::BalancedPort(const Known& known, const SpecPort& port, Room& room) const {
  const Served served = Serving(known, port, room);
  ServicePort balanced{.protocol = port.protocol, .port = port.port};
  balanced.endpoints.reserve(served.size());
  for (const auto& [one, endpoint] : served) balanced.endpoints.push_back(one);
  if (known.spec->local) return balanced;
  for (const IpFamily family : {IpFamily::kIpv4, IpFamily::kIpv6}) {
    Prefer(served, family, &Endpoint::for_nodes, balanced.of_node);
    Prefer(served, family, &Endpoint::for_zones, balanced.of_zone);
  }
  return balanced;
}

Service Services::ServiceOf(const Known& known) const {
  Service service{.cluster_ips = known.spec->cluster_ips,
                  .affinity = known.spec->affinity,
                  .local = known.spec->local,
                  .ports = {}};
  if (service.cluster_ips.empty()) return service;
  Room room;
  service.ports.reserve(known.spec->ports.size());
  for (const SpecPort& port : known.spec->ports)
    service.ports.push_back(BalancedPort(known, port, room));
  return service;
}

void Services::Balance(const std::string& name, const Service& service) {
  if (balancer_ == nullptr) return;
  balancer_->Balance(name, service);
  if (balancer_->WhyNotBalanced(name)) wake_({kKind, name});
}

void Services::Tell(const std::string& key) {
  const auto known = services_.find(key);
  const bool is_there = known->second.spec.has_value();
  Balance(key, is_there ? ServiceOf(known->second) : Service());
  if (!is_there && known->second.slices.empty()) services_.erase(known);
}

void Services::BeginTerm(const Term& term) {
  const MutexLock lock(mutex_);
  balancer_ = term.backend.facets().services;
  for (const auto& [key, known] : services_) {
    if (known.spec) Balance(key, ServiceOf(known));
  }
}

void Services::EndTerm() {
  const MutexLock lock(mutex_);
  balancer_ = nullptr;
}

std::optional<std::string> Services::UidForNews(const std::string& name,
                                                const std::string& message) {
  const Clock::time_point now = Clock::now();
  const MutexLock lock(mutex_);
  const auto known = services_.find(name);
  if (known == services_.end() || !known->second.spec) return std::nullopt;
  if (known->second.told == message && now < known->second.told_at + kAgain) return std::nullopt;
  known->second.told = message;
  known->second.told_at = now;
  return known->second.uid;
}

}  // namespace kuryr::controller
