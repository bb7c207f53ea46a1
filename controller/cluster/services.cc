#include "controller/cluster/services.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/names.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr const char* kServiceLabel = "kubernetes.io/service-name";
/// The API's default of sessionAffinityConfig.clientIP.timeoutSeconds.
constexpr int64_t kAffinitySeconds = 10'800;

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

/// The node's name is to be part of names of rows.
std::string NodeOf(const json& endpoint) {
  std::string node = StringAt(endpoint, "nodeName");
  return IsDnsName(node) ? node : "";
}

/// The API's consumers treat a condition that is not known as ready.
bool IsReady(const json& endpoint) {
  const json& ready = MemberAt(MemberAt(endpoint, "conditions"), "ready");
  return !ready.is_boolean() || ready.get<bool>();
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

Services::Slice Services::SliceOf(const watcher::WatchEvent& event) {
  const json& object = *event.object;
  const std::string service =
      StringAt(MemberAt(MemberAt(object, "metadata"), "labels"), kServiceLabel);
  Slice slice;
  if (service.empty() || StringAt(object, "addressType") == "FQDN") return slice;
  slice.service = event.name_space + "/" + service;
  for (const json& port : MemberAt(object, "ports")) slice.ports.push_back(PortOf(port));
  for (const json& endpoint : MemberAt(object, "endpoints")) {
    const json& addresses = MemberAt(endpoint, "addresses");
    if (!IsReady(endpoint) || !addresses.is_array() || addresses.empty()) continue;
    // All addresses of an endpoint are of the same pod: the first is enough.
    if (const auto address = IpIn(addresses.front()))
      slice.endpoints.push_back({*address, NodeOf(endpoint)});
  }
  return slice;
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
    services_[key].spec = SpecOf(*event.object);
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

std::vector<ServiceEndpoint> Services::EndpointsOf(const Known& known, const SpecPort& port,
                                                   size_t most) const {
  std::set<ServiceEndpoint> endpoints;
  std::map<std::string, size_t> counts;  // by node
  for (const std::string& key : known.slices) {
    const Slice& slice = slices_.at(key);
    const auto found =
        std::find_if(slice.ports.begin(), slice.ports.end(), [&](const SpecPort& known_port) {
          return known_port.name == port.name && known_port.protocol == port.protocol;
        });
    if (found == slice.ports.end()) continue;
    for (const Endpoint& endpoint : slice.endpoints) {
      std::string node = known.spec->local ? endpoint.node : "";
      size_t& count = counts[node];
      if (endpoints.size() < most && count < ServicePort::kMostEndpoints &&
          endpoints.insert({endpoint.address, found->port, std::move(node)}).second)
        ++count;
    }
  }
  return {endpoints.begin(), endpoints.end()};
}

Service Services::ServiceOf(const Known& known) const {
  Service service{.cluster_ips = known.spec->cluster_ips,
                  .affinity = known.spec->affinity,
                  .local = known.spec->local,
                  .ports = {}};
  size_t left = kMostOfAllPorts;
  service.ports.reserve(known.spec->ports.size());
  for (const SpecPort& port : known.spec->ports) {
    std::vector<ServiceEndpoint> endpoints = EndpointsOf(known, port, left);
    left -= endpoints.size();
    service.ports.push_back(
        {.protocol = port.protocol, .port = port.port, .endpoints = std::move(endpoints)});
  }
  return service;
}

void Services::Tell(const std::string& key) {
  const auto known = services_.find(key);
  const bool is_there = known->second.spec.has_value();
  if (balancer_ != nullptr)
    balancer_->Balance(key, is_there ? ServiceOf(known->second) : Service());
  if (!is_there && known->second.slices.empty()) services_.erase(known);
}

void Services::StartTelling(ServiceBalancer* balancer) {
  const MutexLock lock(mutex_);
  balancer_ = balancer;
  if (balancer_ == nullptr) return;
  for (const auto& [key, known] : services_) {
    if (known.spec) balancer_->Balance(key, ServiceOf(known));
  }
}

void Services::StopTelling() {
  const MutexLock lock(mutex_);
  balancer_ = nullptr;
}

}  // namespace kuryr::controller
