#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/ovn/northbound/wanted_row.h"

namespace kuryr::controller::ovn {

/// The group of load balancers that the switches of a zone have.
[[nodiscard]] RowKey ZoneGroup(const std::string& zone);

/// The switches with Services, by the zone of their node. Zone "" is that of nodes without one, and
/// of switches that nodes share. Not thread-safe.
class Zones {
 public:
  /// `shared` are the switches that nodes share.
  Zones(std::string cluster, const std::vector<RowKey>& shared);

  /// The node is in the zone. Returns the zones whose switches have changed.
  std::set<std::string> Move(const std::string& node, const std::string& zone);
  /// The node has a switch, or has it no more. Returns as Move.
  std::set<std::string> Add(const std::string& node);
  std::set<std::string> Remove(const std::string& node);

  /// Whether the node has a switch.
  [[nodiscard]] bool Has(const std::string& node) const;
  [[nodiscard]] std::string ZoneOf(const std::string& node) const;
  /// None is empty.
  [[nodiscard]] const std::map<std::string, std::set<RowKey>>& switches() const noexcept {
    return switches_;
  }
  /// How many switches there are.
  [[nodiscard]] size_t size() const;

  /// The row of the zone's group; empty places: the zone has no switch.
  [[nodiscard]] WantedRow GroupRow(const std::string& zone) const;

 private:
  const std::string cluster_;
  std::map<std::string, std::string> zones_;  ///< by node; none: ""
  std::map<std::string, std::set<RowKey>> switches_;
};

}  // namespace kuryr::controller::ovn
