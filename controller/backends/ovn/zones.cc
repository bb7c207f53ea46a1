#include "controller/backends/ovn/zones.h"

#include <utility>

#include "controller/backends/ovn/northbound/schema.h"
#include "controller/backends/ovn/topology.h"

namespace kuryr::controller::ovn {

RowKey ZoneGroup(const std::string& zone) {
  // No label's value is empty where the zone has a name.
  return {kLoadBalancerGroup, zone.empty() ? "services/no-zone" : "services/zone/" + zone};
}

Zones::Zones(std::string cluster, const std::vector<RowKey>& shared)
    : cluster_(std::move(cluster)) {
  if (!shared.empty()) switches_[""] = {shared.begin(), shared.end()};
}

std::set<std::string> Zones::Move(const std::string& node, const std::string& zone) {
  if (ZoneOf(node) == zone) return {};
  const std::set<std::string> left = Remove(node);
  zones_.erase(node);
  if (!zone.empty()) zones_[node] = zone;
  if (left.empty()) return {};
  std::set<std::string> changed = Add(node);
  changed.insert(left.begin(), left.end());
  return changed;
}

std::set<std::string> Zones::Add(const std::string& node) {
  const std::string zone = ZoneOf(node);
  if (!switches_[zone].insert(NodeSwitch(node)).second) return {};
  return {zone};
}

std::set<std::string> Zones::Remove(const std::string& node) {
  const std::string zone = ZoneOf(node);
  const auto found = switches_.find(zone);
  if (found == switches_.end() || found->second.erase(NodeSwitch(node)) == 0) return {};
  if (found->second.empty()) switches_.erase(found);
  return {zone};
}

bool Zones::Has(const std::string& node) const {
  const auto found = switches_.find(ZoneOf(node));
  return found != switches_.end() && found->second.contains(NodeSwitch(node));
}

std::string Zones::ZoneOf(const std::string& node) const {
  const auto zone = zones_.find(node);
  return zone == zones_.end() ? "" : zone->second;
}

size_t Zones::size() const {
  size_t size = 0;
  for (const auto& [zone, switches] : switches_) size += switches.size();
  return size;
}

WantedRow Zones::GroupRow(const std::string& zone) const {
  const RowKey key = ZoneGroup(zone);
  WantedRow row = {.key = key, .values = {{"name", cluster_ + "/" + key.name}}};
  const auto found = switches_.find(zone);
  if (found == switches_.end()) return row;
  for (const RowKey& each : found->second) row.places.push_back({each, "load_balancer_group"});
  return row;
}

}  // namespace kuryr::controller::ovn
