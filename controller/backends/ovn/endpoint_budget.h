#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/plan/service.h"

namespace kuryr::controller::ovn {

/// Bounds the endpoints of a namespace's Services together, because each of them stands in the
/// database and on every node. What else a Service needs counts as endpoints, too. So no namespace
/// takes room from another one. A Service that would exceed the bound waits until others of its
/// namespace need less. Not thread-safe.
class EndpointBudget {
 public:
  /// A row of its own that a Service needs for a node or a zone has some 400 bytes where an
  /// endpoint has 25.
  static constexpr size_t kRow = 16;
  /// A port at a cluster IP, with or without endpoints. Each node has two flows of it for each
  /// node's switch, and one of each endpoint.
  static constexpr size_t kVip = 8;
  /// A switch that has a load balancer by itself, not by a group: 36 bytes in each database.
  static constexpr size_t kPlace = 3;
  /// The most ports at cluster IPs of one Service.
  static constexpr size_t kMostVips = 500;

  explicit EndpointBudget(size_t most) : most_(most) {}

  /// A Service, "NAMESPACE/NAME", in the form in which it is to be balanced: empty while it waits.
  using Form = std::pair<std::string, Service>;
  /// The Service has this form now, and the cluster so many switches. Returns the forms that change
  /// by this, that of the Service among them. One that fits only without what its clients prefer is
  /// balanced without it until its next call.
  [[nodiscard]] std::vector<Form> Take(const std::string& name, const Service& service,
                                       size_t switches);

  /// Which field of the Service makes it wait, and what helps; nullopt: it does not wait.
  [[nodiscard]] std::optional<std::string> WhyNotBalanced(const std::string& name) const;
  /// How many Services wait.
  [[nodiscard]] size_t waiting() const noexcept { return waiting_.size(); }

 private:
  struct Waiting {
    Service service;
    size_t vips;
    size_t cost;  ///< in endpoints
  };

  [[nodiscard]] static Waiting Weigh(const Service& service, size_t switches);
  void Forget(const std::string& name);
  [[nodiscard]] bool Admit(const std::string& name, const Waiting& wanted);

  const size_t most_;
  std::map<std::string, size_t> used_;      ///< by namespace
  std::map<std::string, size_t> admitted_;  ///< by Service
  std::map<std::string, Waiting> waiting_;  ///< without what their clients prefer
};

}  // namespace kuryr::controller::ovn
