#include "controller/backends/ovn/endpoint_budget.h"

#include <set>

namespace kuryr::controller::ovn {
namespace {

size_t VipsOf(const Service& service) { return service.ports.size() * service.cluster_ips.size(); }

using Rows = std::set<std::pair<std::string, std::string>>;  // by client and protocol

/// The endpoints that the clients prefer. Adds their rows.
size_t CountPreferred(const EndpointsByClient& preferred, const std::string& protocol, Rows& rows) {
  size_t endpoints = 0;
  for (const auto& [client, of_client] : preferred) {
    endpoints += of_client.size();
    rows.emplace(client, protocol);
  }
  return endpoints;
}

size_t CostOf(const Service& service, size_t switches) {
  if (service.cluster_ips.empty()) return 0;
  size_t endpoints = 0;
  Rows of_nodes;
  Rows of_zones;
  std::set<std::string> placed;  // protocols whose load balancers are at single switches
  for (const ServicePort& port : service.ports) {
    endpoints += port.endpoints.size();
    for (const ServiceEndpoint& endpoint : port.endpoints) {
      if (!endpoint.node.empty()) of_nodes.emplace(endpoint.node, port.protocol);
    }
    endpoints += CountPreferred(port.of_node, port.protocol, of_nodes);
    endpoints += CountPreferred(port.of_zone, port.protocol, of_zones);
    if (!port.of_node.empty()) placed.insert(port.protocol);
  }
  return endpoints + EndpointBudget::kVip * VipsOf(service) +
         EndpointBudget::kRow * (of_nodes.size() + of_zones.size()) +
         EndpointBudget::kPlace * switches * placed.size();
}

Service WithoutPreferences(Service service) {
  for (ServicePort& port : service.ports) {
    port.of_node.clear();
    port.of_zone.clear();
  }
  return service;
}

std::string NamespaceOf(const std::string& name) { return name.substr(0, name.find('/')); }

}  // namespace

void EndpointBudget::Forget(const std::string& name) {
  waiting_.erase(name);
  const auto former = admitted_.extract(name);
  if (!former) return;
  const auto used = used_.find(NamespaceOf(name));
  used->second -= former.mapped();
  if (used->second == 0) used_.erase(used);
}

bool EndpointBudget::Admit(const std::string& name, const Waiting& wanted) {
  if (wanted.cost == 0) return true;
  const auto used = used_.find(NamespaceOf(name));
  const size_t before = used == used_.end() ? 0 : used->second;
  if (wanted.vips > kMostVips || before + wanted.cost > most_) return false;
  used_[NamespaceOf(name)] = before + wanted.cost;
  admitted_[name] = wanted.cost;
  return true;
}

EndpointBudget::Waiting EndpointBudget::Weigh(const Service& service, size_t switches) {
  return {.service = service, .vips = VipsOf(service), .cost = CostOf(service, switches)};
}

std::vector<EndpointBudget::Form> EndpointBudget::Take(const std::string& name,
                                                       const Service& service, size_t switches) {
  Forget(name);
  Waiting wanted = Weigh(service, switches);
  bool is_admitted = Admit(name, wanted);
  if (!is_admitted && HasPreferences(service)) {
    wanted = Weigh(WithoutPreferences(service), switches);
    is_admitted = Admit(name, wanted);
  }
  std::vector<Form> forms;
  if (is_admitted) {
    forms.emplace_back(name, std::move(wanted.service));
  } else {
    waiting_.emplace(name, std::move(wanted));
    forms.emplace_back(name, Service());
  }
  const std::string prefix = NamespaceOf(name) + "/";
  for (auto waiting = waiting_.lower_bound(prefix);
       waiting != waiting_.end() && waiting->first.starts_with(prefix);) {
    if (waiting->first == name || !Admit(waiting->first, waiting->second)) {
      ++waiting;
      continue;
    }
    forms.emplace_back(waiting->first, std::move(waiting->second.service));
    waiting = waiting_.erase(waiting);
  }
  return forms;
}

std::optional<std::string> EndpointBudget::WhyNotBalanced(const std::string& name) const {
  const auto waiting = waiting_.find(name);
  if (waiting == waiting_.end()) return std::nullopt;
  const Waiting& wanted = waiting->second;
  if (wanted.vips > kMostVips) {
    return "spec.ports: " + std::to_string(wanted.service.ports.size()) + " ports at " +
           std::to_string(wanted.service.cluster_ips.size()) + " addresses; a Service may have " +
           std::to_string(kMostVips) + " of both together: divide it into several Services";
  }
  return "spec.ports: with its ports and endpoints, the Services of its namespace would count as "
         "more than " +
         std::to_string(most_) + " endpoints: delete others, or divide them between namespaces";
}

}  // namespace kuryr::controller::ovn
