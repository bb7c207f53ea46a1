#include "controller/backends/neutron/cluster_ports.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "controller/backends/neutron/ports/port_request.h"

namespace kuryr::controller::neutron {
namespace {

/// Whoever may change the port in Neutron has written its name.
bool NamesPod(const Port& port, const Owner& owner) {
  return HasWholeName(port) && IsDnsName(owner.scope) && IsDnsName(owner.name);
}

}  // namespace

std::vector<Port> ClusterPorts::Find() {
  if (means_.defaults.tags.empty()) return {};
  PortFilter filter = means_.driver.FilterOf("");
  filter.project_id = means_.defaults.project;
  filter.tags = means_.defaults.tags;
  std::vector<Port> ports = means_.api.ListPorts(filter);
  // A Neutron without tags may pass over the filter.
  std::erase_if(ports, [&](const Port& port) { return !HasTags(port, means_.defaults.tags); });
  filter.tags.clear();
  filter.description = MarkOf(means_.defaults);
  for (Port& port : means_.api.ListPorts(filter)) {
    const bool is_marked = port.description == filter.description;
    if (is_marked && !HasTags(port, means_.defaults.tags)) ports.push_back(std::move(port));
  }
  return ports;
}

std::map<std::string, SeenPort> ClusterPorts::Seen() {
  const auto asked_at = SeenPort::Clock::now();
  std::map<std::string, SeenPort> seen;
  for (const Port& port : Find()) seen.emplace(port.id, SeenPortOf(port, asked_at));
  return seen;
}

std::vector<ListedPort> ClusterPorts::Owned() {
  PortFilter filter = means_.driver.FilterOf("");
  filter.project_id = means_.defaults.project;
  std::vector<ListedPort> all;
  for (const Port& port : means_.api.ListPorts(filter)) {
    const std::string owner = means_.driver.OwnerIdOf(port);
    if (!owner.empty()) all.push_back({.id = port.id, .name = port.name, .owner_id = owner});
  }
  return all;
}

std::vector<ListedPort> ClusterPorts::Unmarked() {
  if (means_.defaults.tags.empty()) return {};
  means_.driver.Learn();
  PortFilter filter = means_.driver.FilterOf("");
  filter.project_id = means_.defaults.project;
  filter.name = kReadyName;
  std::vector<ListedPort> all;
  for (const Port& port : means_.api.ListPorts(filter)) {
    const bool is_unmarked = port.tags.empty() && port.description.empty();
    if (!is_unmarked || !PortPools::IsReady(means_.driver, port)) continue;
    const auto key = PortPools::KeyOf(means_, port);
    if (!key || port.active) continue;
    all.push_back({.id = port.id, .name = port.name, .spare = true, .place = key->place});
  }
  return all;
}

std::vector<Owner> ClusterPorts::Owners() {
  std::map<std::string, Owner> owners;
  for (const Port& port : Find()) {
    const std::string id = means_.driver.OwnerIdOf(port);
    if (!id.empty()) owners.emplace(id, OwnerOf(id, port));
  }
  std::vector<Owner> all;
  all.reserve(owners.size());
  for (auto& [id, owner] : owners) all.push_back(std::move(owner));
  return all;
}

std::vector<Owner> ClusterPorts::IdlePods() {
  std::map<std::string, Owner> idle;
  std::set<std::string> busy;
  for (const Port& port : Find()) {
    const std::string id = means_.driver.OwnerIdOf(port);
    if (id.empty()) continue;
    const Owner owner = OwnerOf(id, port);
    if (port.active || !NamesPod(port, owner)) {
      busy.insert(id);
    } else {
      idle.emplace(id, owner);
    }
  }
  std::vector<Owner> all;
  all.reserve(idle.size());
  for (auto& [id, owner] : idle) {
    if (!busy.contains(id)) all.push_back(std::move(owner));
  }
  return all;
}

std::vector<ListedPort> ClusterPorts::All() {
  means_.driver.Learn();
  std::vector<ListedPort> all;
  for (const Port& port : Find()) {
    const auto key = PortPools::KeyOf(means_, port);
    const bool free = key && PortPools::IsFree(means_.driver, means_.defaults, port);
    all.push_back({.id = port.id,
                   .name = port.name,
                   .owner_id = means_.driver.OwnerIdOf(port),
                   .spare = free,
                   .place = free && means_.defaults.pool.enabled ? key->place : ""});
  }
  return all;
}

}  // namespace kuryr::controller::neutron
