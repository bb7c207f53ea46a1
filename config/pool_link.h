#pragma once

#include <cstdint>
#include <string>

#include "config/config_file.h"

namespace kuryr {

/// The kind of VIF that a pool's pods get.
enum class VifKind : uint8_t { kOvs, kBridge, kMacvlan, kVlan };

/// The options of a section [pool:NAME] that the controller and the nodes read: how its pods are
/// attached. The controller alone reads the others.
struct PoolLink {
  VifKind kind = VifKind::kOvs;
  std::string bridge;            ///< empty for macvlan and vlan
  std::string bridge_interface;  ///< empty: none
};

/// Reads vif, bridge and bridge_interface of the section. Throws ConfigError that names file,
/// section and option.
[[nodiscard]] PoolLink ReadPoolLink(const ConfigFiles& files, const std::string& section);

}  // namespace kuryr
