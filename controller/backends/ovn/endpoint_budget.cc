#include "controller/backends/ovn/endpoint_budget.h"

#include <set>

#include "base/log.h"

namespace kuryr::controller::ovn {
namespace {

/// In endpoints. A local Service has a row for each protocol at each node.
size_t CostOf(const Service& service) {
  size_t endpoints = 0;
  std::set<std::pair<std::string, std::string>> rows;
  for (const ServicePort& port : service.ports) {
    endpoints += port.endpoints.size();
    for (const ServiceEndpoint& endpoint : port.endpoints) {
      if (!endpoint.node.empty()) rows.emplace(endpoint.node, port.protocol);
    }
  }
  return endpoints + EndpointBudget::kRow * rows.size();
}

std::string NamespaceOf(const std::string& name) { return name.substr(0, name.find('/')); }

}  // namespace

bool EndpointBudget::Admit(const std::string& name, const Service& service) {
  const size_t cost = CostOf(service);
  if (cost == 0) return true;
  size_t& used = used_[NamespaceOf(name)];
  if (used + cost > most_) return false;
  used += cost;
  admitted_[name] = cost;
  return true;
}

std::vector<EndpointBudget::Form> EndpointBudget::Take(const std::string& name,
                                                       const Service& service) {
  if (const auto former = admitted_.extract(name)) {
    const auto used = used_.find(NamespaceOf(name));
    used->second -= former.mapped();
    if (used->second == 0) used_.erase(used);
  }
  const bool has_waited = waiting_.erase(name) > 0;
  std::vector<Form> forms;
  if (Admit(name, service)) {
    forms.emplace_back(name, service);
  } else {
    if (!has_waited)
      Log(LogLevel::kWarning, "Service not balanced: its namespace has too many endpoints",
          {{"service", name}, {"most", std::to_string(most_)}});
    waiting_[name] = service;
    forms.emplace_back(name, Service());
  }
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (waiting->first == name || !Admit(waiting->first, waiting->second)) {
      ++waiting;
      continue;
    }
    forms.emplace_back(waiting->first, std::move(waiting->second));
    waiting = waiting_.erase(waiting);
  }
  return forms;
}

}  // namespace kuryr::controller::ovn
