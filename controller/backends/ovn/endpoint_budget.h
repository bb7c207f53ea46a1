#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/plan/service.h"

namespace kuryr::controller::ovn {

/// Bounds the endpoints of a namespace's Services together, because each of them stands in the
/// database and on every node. Each row of a node that a local Service needs counts as kRow
/// endpoints. So no namespace takes room from another one. A Service that would exceed the bound
/// waits until others of its namespace need less. Not thread-safe.
class EndpointBudget {
 public:
  /// A row has some 400 bytes where an endpoint has 25.
  static constexpr size_t kRow = 16;

  explicit EndpointBudget(size_t most) : most_(most) {}

  /// A Service, "NAMESPACE/NAME", in the form in which it is to be balanced: empty while it waits.
  using Form = std::pair<std::string, Service>;
  /// The Service has this form now. Returns the forms that change by this, that of the Service
  /// among them.
  [[nodiscard]] std::vector<Form> Take(const std::string& name, const Service& service);

 private:
  [[nodiscard]] bool Admit(const std::string& name, const Service& service);

  const size_t most_;
  std::map<std::string, size_t> used_;      ///< by namespace
  std::map<std::string, size_t> admitted_;  ///< by Service
  std::map<std::string, Service> waiting_;
};

}  // namespace kuryr::controller::ovn
