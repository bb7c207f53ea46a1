#include "controller/backends/ovn/endpoint_budget.h"

#include <numeric>

#include "base/log.h"

namespace kuryr::controller::ovn {
namespace {

size_t EndpointsOf(const Service& service) {
  return std::accumulate(
      service.ports.begin(), service.ports.end(), size_t{0},
      [](size_t sum, const ServicePort& port) { return sum + port.endpoints.size(); });
}

std::string NamespaceOf(const std::string& name) { return name.substr(0, name.find('/')); }

}  // namespace

bool EndpointBudget::Admit(const std::string& name, const Service& service) {
  const size_t endpoints = EndpointsOf(service);
  if (endpoints == 0) return true;
  size_t& used = used_[NamespaceOf(name)];
  if (used + endpoints > most_) return false;
  used += endpoints;
  admitted_[name] = endpoints;
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
