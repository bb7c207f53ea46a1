#pragma once

#include "tests/bench/bench_node.h"

namespace kuryr::binding {

/// The least work that connects and disconnects a pod: the driver's netlink requests, OVSDB
/// transactions and writes of files, one after the other, without a question asked.
struct Floor {
  void (*connect)(BenchNode& node, const BenchPod& pod) = nullptr;
  void (*disconnect)(BenchNode& node, const BenchPod& pod) = nullptr;
};

Floor OvsFloor();
Floor HybridFloor();
Floor BridgeFloor();
Floor MacvlanFloor();
Floor VlanFloor();

/// Floors of pods that get devices (tests/bench/bench_devices.h).
Floor SriovFloor();
Floor HostDeviceFloor();
Floor DpdkFloor();
Floor VhostUserClientFloor();
Floor VhostUserServerFloor();

}  // namespace kuryr::binding
