#pragma once

#include <chrono>
#include <cstdint>

#include "config/config_file.h"

namespace kuryr::controller::neutron {

enum class PodVifDriver;

/// [kubernetes] vif_pool_driver and [vif_pool]: ports that are ready before a pod asks for them.
struct PoolOptions {
  bool enabled = false;
  uint32_t least = 5;   ///< with fewer ready, a pool is filled
  uint32_t most = 0;    ///< with as many ready, a released port is deleted; 0: no limit
  uint32_t batch = 10;  ///< made by one request
  std::chrono::seconds interval{20};  ///< between two fills of one pool
};

/// Throws ConfigError, also where that driver's ports cannot be pooled.
[[nodiscard]] PoolOptions ReadPoolOptions(const ConfigFiles& files, PodVifDriver driver);

}  // namespace kuryr::controller::neutron
