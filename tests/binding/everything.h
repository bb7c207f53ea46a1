#pragma once

#include "binding/config.h"

namespace kuryr::test {

/// The config of a node whose operator lets every VIF have its driver, and the bridges of tests.
inline binding::BindingConfig WithEverything(binding::BindingConfig config) {
  config.drivers = {"ovs", "hybrid", "bridge", "nested", "vhostuser", "dpdk", "sriov"};
  config.bridges = {"br-int", "br-lan", "*"};
  return config;
}

}  // namespace kuryr::test
