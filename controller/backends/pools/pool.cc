#include "controller/backends/pools/pool.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "config/node_network_options.h"
#include "controller/backends/pools/pool_section.h"

namespace kuryr::controller::pools {
namespace {

constexpr const char* kPrefix = "pool:";

std::vector<IpNetwork> CidrsOf(const Pool& pool) {
  std::vector<IpNetwork> cidrs;
  cidrs.reserve(pool.subnets.size() + pool.blocks.size());
  for (const PoolSubnet& subnet : pool.subnets) cidrs.push_back(subnet.cidr);
  for (const NodeBlocks& blocks : pool.blocks) cidrs.push_back(blocks.cidr);
  return cidrs;
}

void RefuseOverlaps(const ConfigFiles& files, const std::vector<Pool>& pools) {
  for (auto one = pools.begin(); one != pools.end(); ++one) {
    for (const IpNetwork& cidr : CidrsOf(*one)) {
      for (auto other = pools.begin(); other != one; ++other) {
        if (!ShareSegment(*one, *other)) continue;
        const std::vector<IpNetwork> others = CidrsOf(*other);
        const auto same = std::find_if(others.begin(), others.end(), [&](const IpNetwork& known) {
          return RangeOf(known).Overlaps(RangeOf(cidr));
        });
        if (same == others.end()) continue;
        Refuse(files.Find(kPrefix + one->name, "cidr").where,
               cidr.ToString() + " overlaps " + same->ToString() + " of [pool:" + other->name +
                   "], which is on the same " + (one->bridge.empty() ? "link" : "bridge") +
                   "; give one pool another cidr, or one cidr with several ranges");
      }
    }
  }
}

/// Two pools with the same VLAN ids would take them on the same link of a node.
void RefuseSharedVlans(const ConfigFiles& files, const std::vector<Pool>& pools) {
  for (auto one = pools.begin(); one != pools.end(); ++one) {
    const auto same = std::find_if(pools.begin(), one, [&](const Pool& other) {
      return one->kind == VifKind::kVlan && other.kind == VifKind::kVlan &&
             one->vlan_ids.Overlaps(other.vlan_ids);
    });
    if (same == one) continue;
    Refuse(files.Find(kPrefix + one->name, "vlan_ids").where,
           "overlaps that of [pool:" + same->name + "]; give each of them ids of its own");
  }
}

void RefuseSecond(const ConfigFiles& files, const std::vector<Pool>& pools, const char* option,
                  bool Pool::* is_set) {
  const Pool* first = nullptr;
  for (const Pool& pool : pools) {
    if (!(pool.*is_set)) continue;
    if (first != nullptr) {
      Refuse(files.Find(kPrefix + pool.name, option).where,
             "is set in [pool:" + first->name + "] already; only one pool may have it");
    }
    first = &pool;
  }
}

}  // namespace

std::vector<Pool> ReadPools(const ConfigFiles& files, NodeGateway gateway) {
  std::vector<Pool> pools;
  for (const std::string& section : files.SectionsOf("pool")) {
    if (section == "pool") Refuse("[pool]", "has no name: write [pool:NAME]");
    if (section.starts_with(kPrefix)) pools.push_back(ReadPoolSection(files, section));
  }
  if (pools.size() > UINT16_MAX) Refuse("[pool:NAME]", "more than 65535 pools");
  RefuseSecond(files, pools, "default", &Pool::is_default);
  RefuseSecond(files, pools, "from_node", &Pool::from_node);
  RefuseOverlaps(files, pools);
  RefuseSharedVlans(files, pools);
  const bool has_nodes = ReadNodeNetwork(files).enabled;
  for (Pool& pool : pools) {
    pool.for_nodes =
        has_nodes && pool.from_node && pool.node_gateways && pool.kind == VifKind::kOvs;
    pool.routed = pool.for_nodes && gateway == NodeGateway::kNode;
    if (pool.port_security && !pool.routed && gateway == NodeGateway::kNode)
      Refuse(files.Find(kPrefix + pool.name, "port_security").where,
             "needs pods whose gateway is their node: [node_network] enabled = true, and from_node "
             "or node_prefix");
    if (pool.blocks.empty() || pool.for_nodes) continue;
    Refuse(files.Find(kPrefix + pool.name, "node_prefix").where,
           "needs [node_network] enabled = true, vif = ovs and a gateway: each node's plan has its "
           "block");
  }
  return pools;
}

}  // namespace kuryr::controller::pools
