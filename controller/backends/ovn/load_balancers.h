#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/backends/ovn/northbound/wanted_row.h"
#include "controller/backends/ovn/ovn_options.h"
#include "controller/backends/ovn/zones.h"
#include "controller/plan/service.h"

namespace kuryr::controller::ovn {

/// The group's key.
[[nodiscard]] RowKey ServiceGroup();
[[nodiscard]] WantedRow ServiceGroupRow(const std::string& cluster);

/// Services as load balancers of OVN: each protocol of a Service has one. All switches have it, by
/// one group. Where clients of some zones or nodes prefer some endpoints, each of these zones and
/// nodes has one of its own, and one is the others'; no switch has two. A local Service has one for
/// each node with endpoints, at the node's switch, and the router drops what no switch has
/// translated. A switch that nodes share has all endpoints, as OVN does not know there which node a
/// pod is on. Thread-safe.
class LoadBalancers {
 public:
  /// `shared` are the switches that nodes share.
  LoadBalancers(const OvnOptions& options, const std::vector<RowKey>& shared);

  /// `service` is NAMESPACE/NAME. A port without endpoints refuses connections, but not at the
  /// switches of nodes if the Service is local.
  [[nodiscard]] std::vector<WantedRow> RowsOf(const std::string& service, const Service& facts,
                                              const Zones& zones) const;
  /// How the keys of a Service's rows begin.
  [[nodiscard]] static std::vector<RowKey> PrefixesOf(const std::string& service);

 private:
  [[nodiscard]] std::map<std::string, std::optional<std::string>> OptionsOf(
      const Service& facts, std::string_view protocol) const;
  [[nodiscard]] std::set<std::string> SelectionOf(const Service& facts) const;
  /// Appends the rows of a Service whose clients prefer some endpoints.
  void AppendPreferring(const std::string& service, const Service& facts, const Zones& zones,
                        std::vector<WantedRow>& rows) const;
  /// Appends the rows NAMESPACE/NAME/PROTOCOL, with the suffix after that.
  void Append(const std::string& service, const std::string& suffix, const Service& facts,
              const std::vector<Place>& places, std::vector<WantedRow>& rows) const;

  const std::string cluster_;
  /// With affinity, a digest of the client chooses the endpoint. Otherwise OVN learns each client,
  /// and drops its first packet. Open vSwitch's conntrack in userspace translates the repeated SYN
  /// before OVN looks for the client, so that OVN drops this one too, for ever.
  const bool hashes_clients_;
  std::vector<Place> shared_;
};

}  // namespace kuryr::controller::ovn
