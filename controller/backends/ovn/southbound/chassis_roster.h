#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/chassis_mark.h"
#include "controller/backends/facets.h"
#include "ovsdb/replica.h"

namespace kuryr::controller::ovn {

/// The cluster's nodes beside the chassis of OVN's southbound database. Not thread-safe.
class ChassisRoster {
 public:
  /// `cluster` as in ChassisMark.
  explicit ChassisRoster(std::string cluster) : cluster_(std::move(cluster)) {}

  void SetNode(const MachineOfNode& node) { nodes_[node.name] = node; }
  void RemoveNode(const std::string& name) { nodes_.erase(name); }
  /// A row of table Chassis or Encap; nullptr: it is gone.
  void OnRow(const std::string& table, const std::string& uuid, const OvsdbRow* row);

  /// A chassis of this cluster, by its mark, that no machine of the cluster has as its own.
  struct Stale {
    std::string uuid;
    std::string name;
    std::string options;  ///< ovn-cms-options, with the mark
    ChassisMark mark;

    bool operator==(const Stale& other) const { return uuid == other.uuid; }
  };
  struct Assessment {
    std::vector<Stale> stale;
    std::map<std::string, std::string> problems;  ///< why OVN binds no port of a node, by its name
  };
  [[nodiscard]] Assessment Assess() const;

 private:
  struct Chassis {
    std::string name;
    std::string hostname;
    std::string options;
  };
  struct Encap {
    std::string chassis;  ///< its name
    std::string ip;
  };
  using ByNode = std::map<std::string, std::vector<const Chassis*>>;

  [[nodiscard]] std::vector<Stale> FindStale() const;
  /// The chassis that OVN takes for each node, by name or hostname.
  [[nodiscard]] ByNode FindNamed() const;
  /// The chassis at one of the node's addresses, or else one whose hostname is the node's name and
  /// a domain; nullptr: none.
  [[nodiscard]] const Chassis* FindLookalike(
      const MachineOfNode& node, const std::map<std::string, const Chassis*>& by_address) const;
  [[nodiscard]] std::string WhyUnbound(
      const MachineOfNode& node, const std::vector<const Chassis*>& named,
      const std::map<std::string, const Chassis*>& by_address) const;

  const std::string cluster_;
  std::map<std::string, MachineOfNode> nodes_;
  std::map<std::string, Chassis> chassis_;  ///< by UUID
  std::map<std::string, Encap> encaps_;     ///< by UUID
};

/// Whether a chassis with this mark is another machine's than the node has now. nullopt: the node
/// is gone.
[[nodiscard]] bool IsStale(const ChassisMark& mark, const std::optional<std::string>& machine);

}  // namespace kuryr::controller::ovn
