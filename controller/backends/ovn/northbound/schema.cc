#include "controller/backends/ovn/northbound/schema.h"

#include "ovsdb/operation.h"

namespace kuryr::controller::ovn {

std::vector<OvsdbTable> NorthboundTables(const std::string& cluster) {
  std::vector<OvsdbTable> tables = {
      {.name = kAcl,
       .values = {"action", "direction", "match", "priority"},
       .maps = {"external_ids", "options"}},
      {.name = kLoadBalancer,
       .values = {"name", "protocol"},
       .maps = {"external_ids", "options", "vips"},
       .sets = {"selection_fields"}},
      {.name = kPortGroup, .values = {"name"}, .maps = {"external_ids"}, .sets = {"acls", "ports"}},
      {.name = kRouter,
       .values = {"name"},
       .maps = {"external_ids", "options"},
       .sets = {"ports", "static_routes"}},
      {.name = kRouterPort,
       .values = {"name", "mac"},
       .maps = {"external_ids"},
       .sets = {"networks"}},
      {.name = kStaticRoute,
       .values = {"ip_prefix", "nexthop", "policy"},
       .maps = {"external_ids"}},
      {.name = kSwitch,
       .values = {"name"},
       .maps = {"external_ids"},
       .sets = {"acls", "load_balancer", "load_balancer_group", "ports"}},
      {.name = kSwitchPort,
       .values = {"name", "type"},
       .maps = {"external_ids", "options"},
       .sets = {"addresses", "port_security"}}};
  for (OvsdbTable& table : tables) {
    table.condition =
        ovsdb::Where("external_ids", "includes", ovsdb::Map({{"kuryr-cluster", cluster}}));
  }
  // No condition says how a name begins.
  tables.push_back({.name = kLoadBalancerGroup, .values = {"name"}, .sets = {"load_balancer"}});
  return tables;
}

std::map<std::string, std::set<std::string>> ReferenceColumns() {
  return {{kRouter, {"ports", "static_routes"}},
          {kPortGroup, {"acls", "ports"}},
          {kSwitch, {"acls", "load_balancer", "load_balancer_group", "ports"}},
          {kLoadBalancerGroup, {"load_balancer"}}};
}

}  // namespace kuryr::controller::ovn
