#include "controller/backends/neutron/settings/pod_defaults.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/names.h"

namespace kuryr::controller::neutron {
namespace {

constexpr size_t kMostItems = 64;
/// Neutron's own limit for a tag.
constexpr size_t kMostTag = 255;
/// Leaves room for a namespace's UID, which may follow the mark in a tag.
constexpr size_t kLongestMark = 200;
constexpr uint32_t kLongestOrphanInterval = 86'400;

void TakeIds(const Option& option, std::vector<std::string>& target) {
  Take(option, target);
  if (target.size() > kMostItems)
    Refuse(option.where, "more than " + std::to_string(kMostItems) + " UUIDs");
  for (const std::string& id : target) {
    if (!IsUuid(id)) Refuse(option.where, "\"" + Printable(id) + "\"; expected a UUID");
  }
}

void TakeScopeSubnets(const ConfigFiles& files, PodDefaults& defaults) {
  const Option driver = files.Find("kubernetes", "pod_subnets_driver");
  if (!driver.set() || *driver.value == "default") return;
  if (*driver.value != "namespace")
    Refuse(driver.where, "\"" + Printable(*driver.value) + "\"; expected default or namespace");
  defaults.scope_subnets = true;
  const Option pools = files.Find("namespace_subnet", "pod_subnet_pool");
  TakeIds(pools, defaults.subnet_pools);
  if (defaults.subnet_pools.empty() || defaults.subnet_pools.size() > 2)
    Refuse(pools.where, "expected the UUID of a subnet pool, or of one of each family");
  const Option router = files.Find("namespace_subnet", "pod_router");
  Take(router, defaults.router);
  if (!IsUuid(defaults.router))
    Refuse(router.where, "expected the UUID of the router that connects the namespaces' networks");
}

void TakeSubnets(const ConfigFiles& files, PodDefaults& defaults) {
  TakeScopeSubnets(files, defaults);
  const Option own = files.Find("neutron_defaults", "pod_subnet");
  TakeIds(own, defaults.subnets);
  if (defaults.subnets.empty() && !defaults.scope_subnets)
    Refuse(own.where,
           "is not set; expected the UUID of the pods' subnet, or of one of each family");
  const Option more = files.Find("neutron_defaults", "additional_subnets");
  defaults.any_subnet = more.set() && *more.value == "*";
  if (!defaults.any_subnet) TakeIds(more, defaults.more_subnets);
}

NamedSubnets ReadNamed(const ConfigFiles& files, const std::string& section) {
  NamedSubnets named;
  TakeIds(files.Find(section, "subnet"), named.ids);
  const Option option = files.Find(section, "namespaces");
  Take(option, named.namespaces);
  named.all_namespaces = std::erase(named.namespaces, "*") > 0;
  for (const std::string& name : named.namespaces) {
    if (!IsDnsName(name))
      Refuse(option.where, "\"" + Printable(name) + "\" is no namespace's name, nor * for all");
  }
  return named;
}

/// A section without `subnet` is another backend's.
void TakePools(const ConfigFiles& files, PodDefaults& defaults) {
  const std::string prefix = "pool:";
  std::map<std::string, std::string> pool_of;
  for (const std::string& section : files.SectionsOf(prefix)) {
    if (!files.Find(section, "subnet").set()) continue;
    NamedSubnets named = ReadNamed(files, section);
    for (const std::string& name : named.namespaces) {
      const auto [other, is_new] = pool_of.emplace(name, section);
      if (!is_new)
        Refuse(files.Find(section, "namespaces").where,
               "namespace " + name + " is in [" + other->second + "], too");
    }
    defaults.pools.emplace(section.substr(prefix.size()), std::move(named));
  }
}

void TakeGroups(const ConfigFiles& files, PodDefaults& defaults) {
  TakeIds(files.Find("neutron_defaults", "pod_security_groups"), defaults.security_groups);
  TakeIds(files.Find("neutron_defaults", "node_security_groups"), defaults.node_groups);
  const Option more = files.Find("neutron_defaults", "additional_security_groups");
  defaults.any_group = more.set() && *more.value == "*";
  if (!defaults.any_group) TakeIds(more, defaults.more_groups);
}

/// Ports get pod_security_groups back when no policy isolates their pods any more.
void TakePolicies(const ConfigFiles& files, PodDefaults& defaults) {
  const Option driver = files.Find("kubernetes", "pod_security_groups_driver");
  if (!driver.set() || *driver.value == "default") return;
  if (*driver.value != "policy")
    Refuse(driver.where, "\"" + Printable(*driver.value) + "\"; expected default or policy");
  if (defaults.driver == PodVifDriver::kNestedMacvlan)
    Refuse(driver.where,
           "policy does not go with pod_vif_driver = nested-macvlan: what its pods receive passes "
           "their node's port");
  const Option groups = files.Find("neutron_defaults", "pod_security_groups");
  if (defaults.security_groups.empty())
    Refuse(groups.where,
           "is not set; with pod_security_groups_driver = policy, expected the UUIDs of the groups "
           "of pods that no policy isolates");
  if (defaults.tags.empty())
    Refuse(files.Find("neutron_defaults", "resource_tags").where,
           "is not set; with pod_security_groups_driver = policy, expected tags of this cluster's "
           "own: the groups of its policies are known by them");
  defaults.enforces_policies = true;
}

void TakeTags(const Option& option, std::vector<std::string>& target) {
  Take(option, target);
  for (const std::string& tag : target) {
    if (tag.empty() || tag.size() > kMostTag || target.size() > kMostItems)
      Refuse(option.where, "expected at most " + std::to_string(kMostItems) + " tags of at most " +
                               std::to_string(kMostTag) + " bytes");
  }
}

void TakeDriver(const Option& option, PodVifDriver& target) {
  if (!option.set() || *option.value == "neutron-vif") return;
  if (*option.value == "nested-vlan") {
    target = PodVifDriver::kNestedVlan;
  } else if (*option.value == "nested-macvlan") {
    target = PodVifDriver::kNestedMacvlan;
  } else {
    Refuse(option.where, "\"" + Printable(*option.value) +
                             "\"; expected neutron-vif, nested-vlan or nested-macvlan");
  }
}

void TakeNested(const ConfigFiles& files, PodDefaults& defaults) {
  constexpr uint32_t kMostAttempts = 100;
  TakeDriver(files.Find("kubernetes", "pod_vif_driver"), defaults.driver);
  const Option subnets = files.Find("pod_vif_nested", "worker_nodes_subnets");
  TakeIds(subnets, defaults.worker_subnets);
  // The original's former name.
  if (!subnets.set())
    TakeIds(files.Find("pod_vif_nested", "worker_nodes_subnet"), defaults.worker_subnets);
  Take(files.Find("pod_vif_nested", "rev_update_attempts"), defaults.update_attempts, 1,
       kMostAttempts);
  if (defaults.is_nested() && defaults.worker_subnets.empty())
    Refuse(subnets.where,
           "is not set; with a nested pod_vif_driver, expected the UUIDs of the subnets that the "
           "nodes' virtual machines are in");
}

}  // namespace

PodDefaults ReadPodDefaults(const ConfigFiles& files) {
  PodDefaults defaults;
  Take(files.Find("neutron_defaults", "project"), defaults.project);
  TakeSubnets(files, defaults);
  TakePools(files, defaults);
  TakeGroups(files, defaults);
  const Option tags = files.Find("neutron_defaults", "resource_tags");
  TakeTags(tags, defaults.tags);
  if (defaults.scope_subnets && defaults.tags.empty())
    Refuse(tags.where,
           "is not set; with pod_subnets_driver = namespace, expected tags of this cluster's own: "
           "the networks of namespaces that are gone are known by them");
  Take(files.Find("neutron_defaults", "orphan_interval"), defaults.orphan_interval,
       kLongestOrphanInterval, 0);
  TakePairs(files.Find("neutron_defaults", "host_mapping"), "NODE:HOST", defaults.hosts,
            [](const std::string& node, const std::string& /*host*/) { return IsDnsName(node); });
  const Option bridge = files.Find("neutron_defaults", "ovs_bridge");
  Take(bridge, defaults.bridge);
  if (!IsLinkName(defaults.bridge)) Refuse(bridge.where, kLinkNameRule);
  std::filesystem::path folder = defaults.vhostuser_folder;
  Take(files.Find("vhostuser", "mount_point"), folder);
  defaults.vhostuser_folder = folder;
  TakeNested(files, defaults);
  TakePolicies(files, defaults);
  defaults.pool = ReadPoolOptions(files, defaults.driver);
  const Option groups = files.Find("neutron_defaults", "pod_security_groups");
  if (defaults.pool.enabled && defaults.security_groups.empty())
    Refuse(groups.where,
           "is not set; with a vif_pool_driver, expected the UUIDs that a released port gets back");
  return defaults;
}

std::string MarkOf(const PodDefaults& defaults) {
  if (defaults.tags.empty()) return "";
  std::vector<std::string> tags = defaults.tags;
  std::sort(tags.begin(), tags.end());
  std::string all;
  for (const std::string& tag : tags) all += (all.empty() ? "" : ", ") + tag;
  const std::string prefix = "kuryr-controller of ";
  const bool is_short = prefix.size() + all.size() <= kLongestMark;
  return prefix + (is_short ? all : std::to_string(Hash(all)));
}

}  // namespace kuryr::controller::neutron
