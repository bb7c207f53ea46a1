#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "controller/backends/ovn/northbound/wanted_row.h"
#include "controller/backends/ovn/ovn_options.h"
#include "controller/plan/plan_request.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller::ovn {

/// The router's MAC on the link of a gateway address. It follows from the address, so that it stays
/// when the row is made anew. No pod gets it by a wish (pools::Segment::WhyNotFor).
[[nodiscard]] MacAddress MacOfGateway(const IpAddress& gateway);

/// The key of the node's switch.
[[nodiscard]] RowKey NodeSwitch(const std::string& node);

/// The logical network of a cluster: one router; a switch for each node, with a port of the router
/// that is the gateway, and one for each pool that all nodes share. Owners' VIFs are ports of these
/// switches. Rows follow from VIFs and pools alone.
class Topology {
 public:
  explicit Topology(const OvnOptions& options);

  /// The router, with the UID of its Kubernetes cluster unless that is empty.
  [[nodiscard]] WantedRow RouterRow(const std::string& uid) const;
  /// Rows that no owner has: the router, the switches of shared pools with their ACLs, the group of
  /// Services.
  [[nodiscard]] std::vector<WantedRow> SharedRows() const;
  /// The keys of the switches of shared pools.
  [[nodiscard]] std::vector<RowKey> SharedSwitches() const;
  /// A port for each VIF. For a node in a network of its own, also its switch with its ACLs, the
  /// router's port there, and the route of its pods to the outside: through the node.
  [[nodiscard]] std::vector<WantedRow> RowsOf(const Owner& owner,
                                              const std::vector<vif::PodVif>& vifs) const;

 private:
  [[nodiscard]] WantedRow SwitchRow(const std::string& name) const;
  /// Appends the switch. Where its pool's pods do not send as anybody, also the ACL that drops what
  /// only routers and DHCP servers send.
  void AddSwitch(const std::string& name, bool is_free, std::vector<WantedRow>& rows) const;
  [[nodiscard]] std::string SwitchOf(const Owner& owner, const vif::VifBase& vif) const;
  [[nodiscard]] WantedRow PortRow(const Owner& owner, const vif::VifBase& vif,
                                  const std::string& on) const;
  void AddNodeRows(const vif::VifBase& vif, const std::string& on,
                   std::vector<WantedRow>& rows) const;

  const std::string cluster_;
  const bool balances_services_;
  std::map<std::string, std::string> shared_pools_;  ///< names, by the id of their network
  /// The networks of pools with port_security = false, by id.
  std::set<std::string> free_networks_;
};

}  // namespace kuryr::controller::ovn
