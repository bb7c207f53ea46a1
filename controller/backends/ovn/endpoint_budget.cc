#include "controller/backends/ovn/endpoint_budget.h"

#include <set>

namespace kuryr::controller::ovn {
namespace {

size_t VipsOf(const Service& service) { return service.ports.size() * service.cluster_ips.size(); }

size_t CostOf(const Service& service) {
  if (service.cluster_ips.empty()) return 0;
  size_t endpoints = 0;
  std::set<std::pair<std::string, std::string>> rows;
  for (const ServicePort& port : service.ports) {
    endpoints += port.endpoints.size();
    for (const ServiceEndpoint& endpoint : port.endpoints) {
      if (!endpoint.node.empty()) rows.emplace(endpoint.node, port.protocol);
    }
  }
  return endpoints + EndpointBudget::kVip * VipsOf(service) + EndpointBudget::kRow * rows.size();
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

std::vector<EndpointBudget::Form> EndpointBudget::Take(const std::string& name,
                                                       const Service& service) {
  Forget(name);
  Waiting wanted = {.service = service, .vips = VipsOf(service), .cost = CostOf(service)};
  std::vector<Form> forms;
  if (Admit(name, wanted)) {
    forms.emplace_back(name, service);
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
