#pragma once

#include <string>
#include <vector>

#include "controller/backends/ovn/northbound/wanted_row.h"
#include "controller/plan/service.h"

// Services as load balancers of OVN: each protocol of a Service has one. All switches have all of
// them, by one group.

namespace kuryr::controller::ovn {

/// The group's key.
[[nodiscard]] RowKey ServiceGroup();
[[nodiscard]] WantedRow ServiceGroupRow(const std::string& cluster);

/// The keys of a Service's load balancers, whether they are there or not.
[[nodiscard]] std::vector<RowKey> BalancerKeysOf(const std::string& service);
/// `service` is NAMESPACE/NAME. A port without endpoints refuses connections.
[[nodiscard]] std::vector<WantedRow> BalancersOf(const std::string& cluster,
                                                 const std::string& service, const Service& facts);

}  // namespace kuryr::controller::ovn
