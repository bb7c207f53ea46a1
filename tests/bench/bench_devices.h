#pragma once

#include "tests/bench/bench_node.h"

namespace kuryr::binding {

/// A card's virtual functions: a made-up sysfs with veths as VFs, "ens1vN", whose other ends are
/// "wireN". For MakeSwitchCard, these ends are the VFs' representors.
std::unique_ptr<BenchDevices> MakeCard(test::PrivateOvs& ovs, int pods);
std::unique_ptr<BenchDevices> MakeSwitchCard(test::PrivateOvs& ovs, int pods);

/// A PCI device in a made-up sysfs that changes drivers as the kernel does, and the files of `pods`
/// other pods.
std::unique_ptr<BenchDevices> MakePciDevice(test::PrivateOvs& ovs, int pods);

/// Open vSwitch with DPDK, and the folder that pods mount.
std::unique_ptr<BenchDevices> MakeVhostUserFolders(test::PrivateOvs& ovs, int pods);

}  // namespace kuryr::binding
