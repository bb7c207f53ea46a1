#include "controller/backends/neutron/ports/port_request.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "controller/backends/neutron/api/port_name.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = PlanError::Kind;

constexpr size_t kLongestText = 255;

std::string Readable(const Subnet& subnet) {
  const std::string name = subnet.name.empty() ? "" : Printable(subnet.name) + " ";
  return "subnet " + name + subnet.cidr.ToString() + " (" + subnet.id + ")";
}

/// Refuses addresses that a pod's user must not have: the gateway's, and those outside the pools.
void RequireGiven(const IpAddress& address, const Subnet& subnet) {
  const std::string what = "address " + address.ToString() + " of " + Readable(subnet);
  if (subnet.gateway == address) throw PlanError(Kind::kRefused, what + " is its gateway's");
  const bool given = std::any_of(
      subnet.allocation_pools.begin(), subnet.allocation_pools.end(),
      [&](const AddressRange& range) { return range.first <= address && address <= range.last; });
  if (given) return;
  std::string pools;
  for (const AddressRange& range : subnet.allocation_pools)
    pools += (pools.empty() ? "" : ", ") + range.first.ToString() + "-" + range.last.ToString();
  throw PlanError(Kind::kRefused, what + " is in none of its allocation pools: " + pools);
}

std::vector<FixedIpRequest> FixedIpsOf(const InterfaceRequest& interface,
                                       const PodNetwork& network) {
  std::vector<FixedIpRequest> wanted;
  if (interface.addresses.empty()) {
    for (const Subnet& subnet : network.subnets) wanted.push_back({.subnet_id = subnet.id});
  }
  for (const IpAddress& address : interface.addresses) {
    const Subnet* subnet = network.FindFor(address);
    if (subnet == nullptr) {
      throw PlanError(Kind::kRefused, "address " + address.ToString() + " is in no subnet of " +
                                          "interface " + Printable(interface.ifname) + ": " +
                                          Readable(network.subnets.front()));
    }
    RequireGiven(address, *subnet);
    wanted.push_back({.subnet_id = subnet->id, .address = address});
  }
  return wanted;
}

bool Lists(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::vector<std::string> UsualSubnets(const std::string& scope, const PodDefaults& defaults) {
  for (const auto& [name, pool] : defaults.pools) {
    if (Lists(pool.namespaces, scope)) return pool.ids;
  }
  return defaults.scope_subnets ? std::vector<std::string>() : defaults.subnets;
}

void RequireGiven(const std::string& name, const NamedSubnets& pool, const std::string& scope) {
  if (pool.all_namespaces || Lists(pool.namespaces, scope)) return;
  throw PlanError(Kind::kRefused, "pool \"" + name + "\" is not for namespace " + Printable(scope) +
                                      ": [pool:" + name +
                                      "] namespaces in kuryr.conf does not list it");
}

/// A namespace may name a group that `additional_security_groups` lists, or any with a star there.
void RequireListed(const std::string& group, const PodDefaults& defaults) {
  const bool is_listed = defaults.any_group || Lists(defaults.security_groups, group) ||
                         Lists(defaults.more_groups, group);
  if (is_listed && IsUuid(group)) return;
  throw PlanError(Kind::kRefused,
                  "security group \"" + Printable(group) +
                      "\", which an annotation of the namespace names, is not for pods: "
                      "[neutron_defaults] additional_security_groups in kuryr.conf does not "
                      "list it");
}

/// A pod may name its namespace's groups; where that has none, those that kuryr.conf lists.
void RequireAllowed(const std::string& group, const Scope& scope, const PodDefaults& defaults) {
  const std::vector<std::string>& own = scope.security_groups;
  const bool is_allowed =
      own.empty() ? Lists(defaults.security_groups, group) || Lists(defaults.more_groups, group)
                  : Lists(own, group);
  if (is_allowed) return;
  throw PlanError(
      Kind::kRefused,
      "security group \"" + Printable(group) + "\" is not for this pod: " +
          (own.empty()
               ? "[neutron_defaults] additional_security_groups in kuryr.conf does not list "
                 "it"
               : "the annotation of its namespace does not name it"));
}

}  // namespace

std::vector<std::string> GroupsFor(const InterfaceRequest& interface, const Scope& scope,
                                   const PodDefaults& defaults) {
  for (const std::string& group : scope.security_groups) RequireListed(group, defaults);
  for (const std::string& group : interface.security_groups) RequireAllowed(group, scope, defaults);
  if (!interface.security_groups.empty()) return interface.security_groups;
  return scope.security_groups.empty() ? defaults.security_groups : scope.security_groups;
}

const std::vector<std::string>& GroupsOfNodes(const PodDefaults& defaults) {
  return defaults.node_groups.empty() ? defaults.security_groups : defaults.node_groups;
}

std::vector<std::string> SubnetsFor(const InterfaceRequest& interface, const std::string& scope,
                                    const PodDefaults& defaults) {
  if (interface.network.empty()) return UsualSubnets(scope, defaults);
  const auto pool = defaults.pools.find(interface.network);
  if (pool != defaults.pools.end()) {
    RequireGiven(pool->first, pool->second, scope);
    return pool->second.ids;
  }
  const std::string what = "network \"" + Printable(interface.network) + "\"";
  if (!IsUuid(interface.network)) {
    throw PlanError(
        Kind::kRefused,
        what +
            " is neither a subnet's UUID, which its definition says as {\"subnetId\": UUID}, "
            "nor a [pool:NAME] of kuryr.conf with a subnet");
  }
  if (!defaults.any_subnet && !Lists(defaults.subnets, interface.network) &&
      !Lists(defaults.more_subnets, interface.network)) {
    throw PlanError(Kind::kRefused,
                    what +
                        " is not for pods: [neutron_defaults] additional_subnets in "
                        "kuryr.conf does not list it");
  }
  return {interface.network};
}

PortRequest PortRequestOf(const Owner& owner, const InterfaceRequest& interface,
                          const PodNetwork& network, const PodDefaults& defaults) {
  PortRequest request{.project_id = defaults.project,
                      .name = PortNameOf(owner, interface.ifname),
                      .network_id = network.network.id,
                      .fixed_ips = FixedIpsOf(interface, network),
                      .device_owner = kDeviceOwner,
                      .mac = interface.mac,
                      .tags = defaults.tags,
                      .sends_from = interface.sends_from};
  if (!defaults.security_groups.empty()) request.security_groups = defaults.security_groups;
  return request;
}

PortRequest ReadyRequestOf(const PodNetwork& network, const PodDefaults& defaults) {
  PortRequest request = PortRequestOf({}, {}, network, defaults);
  request.name = kReadyName;
  return request;
}

bool TagsComeLater(NeutronApi& api, const PodDefaults& defaults) {
  return !defaults.tags.empty() && !api.TagsAtCreation();
}

bool HasTags(const Port& port, const std::vector<std::string>& tags) {
  return std::all_of(tags.begin(), tags.end(), [&](const std::string& tag) {
    return std::find(port.tags.begin(), port.tags.end(), tag) != port.tags.end();
  });
}

bool HasWholeName(const Port& port) { return port.name.size() < kLongestText; }

std::string PortNameOf(const Owner& owner, const std::string& ifname) {
  const size_t rest = kLongestText - ifname.size() - 1;
  return (owner.scope + "/" + owner.name).substr(0, rest) + "/" + ifname;
}

Owner OwnerOf(const std::string& id, const Port& port) {
  PortName name = PartsOfName(port);
  return {
      .id = id, .scope = std::move(name.scope), .name = std::move(name.name), .node = port.host_id};
}

}  // namespace kuryr::controller::neutron
