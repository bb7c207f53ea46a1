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

}  // namespace

bool EndpointBudget::Admit(const std::string& name, const Service& service) {
  const size_t endpoints = EndpointsOf(service);
  if (used_ + endpoints > most_) return false;
  used_ += endpoints;
  if (endpoints > 0) admitted_[name] = endpoints;
  return true;
}

std::vector<EndpointBudget::Form> EndpointBudget::Take(const std::string& name,
                                                       const Service& service) {
  if (const auto former = admitted_.extract(name)) used_ -= former.mapped();
  const bool has_waited = waiting_.erase(name) > 0;
  std::vector<Form> forms;
  if (Admit(name, service)) {
    forms.emplace_back(name, service);
  } else {
    if (!has_waited)
      Log(LogLevel::kWarning, "Service not balanced: all Services have too many endpoints together",
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
