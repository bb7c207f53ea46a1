#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ovsdb/replica.h"

// The tables and columns of the northbound database that kuryr-controller writes (ovn-nb(5)).

namespace kuryr::controller::ovn {

/// The key of the router's external_ids whose value is the UID of the Kubernetes cluster.
inline constexpr const char* kClusterUid = "kuryr-uid";

inline constexpr const char* kNorthboundName = "OVN_Northbound";

inline constexpr const char* kAcl = "ACL";
inline constexpr const char* kLoadBalancer = "Load_Balancer";
/// It has no external_ids: its name says whose it is.
inline constexpr const char* kLoadBalancerGroup = "Load_Balancer_Group";
inline constexpr const char* kPortGroup = "Port_Group";
inline constexpr const char* kRouter = "Logical_Router";
inline constexpr const char* kRouterPort = "Logical_Router_Port";
inline constexpr const char* kStaticRoute = "Logical_Router_Static_Route";
inline constexpr const char* kSwitch = "Logical_Switch";
inline constexpr const char* kSwitchPort = "Logical_Switch_Port";

/// The tables, with conditions that match the cluster's rows alone.
[[nodiscard]] std::vector<OvsdbTable> NorthboundTables(const std::string& cluster);
/// The columns that are sets of references, by table.
[[nodiscard]] std::map<std::string, std::set<std::string>> ReferenceColumns();

}  // namespace kuryr::controller::ovn
