#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kuryr {

/// Says whose a chassis of OVN is. kuryr-daemon writes it to `external_ids:ovn-cms-options` of Open
/// vSwitch, which ovn-controller copies to the chassis' other_config (ovn-controller(8)), and
/// kuryr-controller reads it there.
struct ChassisMark {
  std::string cluster;  ///< [ovn] cluster
  std::string node;     ///< the Node's name
  std::string machine;  ///< its status.nodeInfo.machineID; empty: unknown

  /// "kuryr-cluster=CLUSTER,kuryr-node=NODE,kuryr-machine=MACHINE".
  [[nodiscard]] std::string ToString() const;
  /// nullopt for options without a cluster and a node's name. Other options may be among them.
  [[nodiscard]] static std::optional<ChassisMark> Parse(std::string_view options);
};

/// The machine ID if a mark can hold it; else an empty text.
[[nodiscard]] std::string CheckedMachine(const std::string& machine);

}  // namespace kuryr
