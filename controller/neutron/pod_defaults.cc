#include "controller/neutron/pod_defaults.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/names.h"

namespace kuryr::controller::neutron {
namespace {

constexpr size_t kMostItems = 64;
/// Neutron's own limit for a tag.
constexpr size_t kMostTag = 255;

void TakeIds(const Option& option, std::vector<std::string>& target) {
  Take(option, target);
  if (target.size() > kMostItems)
    Refuse(option.where, "more than " + std::to_string(kMostItems) + " UUIDs");
  for (const std::string& id : target) {
    if (!IsUuid(id)) Refuse(option.where, "\"" + Printable(id) + "\"; expected a UUID");
  }
}

void TakeSubnets(const ConfigFiles& files, PodDefaults& defaults) {
  const Option own = files.Find("neutron_defaults", "pod_subnet");
  TakeIds(own, defaults.subnets);
  if (defaults.subnets.empty())
    Refuse(own.where,
           "is not set; expected the UUID of the pods' subnet, or of one of each family");
  const Option more = files.Find("neutron_defaults", "additional_subnets");
  defaults.any_subnet = more.set() && *more.value == "*";
  if (!defaults.any_subnet) TakeIds(more, defaults.more_subnets);
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
  TakeIds(files.Find("neutron_defaults", "pod_security_groups"), defaults.security_groups);
  TakeTags(files.Find("neutron_defaults", "resource_tags"), defaults.tags);
  TakePairs(files.Find("neutron_defaults", "host_mapping"), "NODE:HOST", defaults.hosts,
            [](const std::string& node, const std::string& /*host*/) { return IsDnsName(node); });
  const Option bridge = files.Find("neutron_defaults", "ovs_bridge");
  Take(bridge, defaults.bridge);
  if (!IsLinkName(defaults.bridge)) Refuse(bridge.where, kLinkNameRule);
  std::filesystem::path folder = defaults.vhostuser_folder;
  Take(files.Find("vhostuser", "mount_point"), folder);
  defaults.vhostuser_folder = folder;
  TakeNested(files, defaults);
  defaults.pool = ReadPoolOptions(files, defaults.driver);
  const Option groups = files.Find("neutron_defaults", "pod_security_groups");
  if (defaults.pool.enabled && defaults.security_groups.empty())
    Refuse(groups.where,
           "is not set; with a vif_pool_driver, expected the UUIDs that a released port gets back");
  return defaults;
}

}  // namespace kuryr::controller::neutron
