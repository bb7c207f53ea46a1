#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vif/pci_address.h"

namespace kuryr::devices {

/// config.json's deviceType: network functions (PCI class 02), processing accelerators (12), and
/// network devices of the auxiliary bus, such as subfunctions. kPlace, a place at a bridge, is not
/// in config.json: it is only counted, and its container gets nothing.
enum class DeviceType { kNetDevice, kAccelerator, kAuxNetDevice, kPlace };

/// The driver of the vdpa bus that has the function's vdpa device.
enum class VdpaType { kVhost, kVirtio };

struct Vdpa {
  std::string name;  ///< "vdpa0"
  VdpaType type = VdpaType::kVhost;
  std::string path;  ///< "/dev/vhost-vdpa-0"; empty: none

  bool operator==(const Vdpa&) const = default;
};

/// A device of the node that a pod can have, as sysfs describes it. Properties of its link also
/// come from other sources, because that link may be in a pod.
struct Device {
  std::string id;  ///< the kubelet's: "0000:03:10.1", or "mlx5_core.sf.2" of the auxiliary bus
  DeviceType type = DeviceType::kNetDevice;
  vif::PciAddress function;        ///< its own, or that of an auxiliary device's parent
  std::string vendor;              ///< "8086", in lower case
  std::string code;                ///< "154c", in lower case
  std::string driver;              ///< of the kernel; empty: none
  vif::PciAddress root_device;     ///< the physical function of a VF; what is none is its own
  std::string pf;                  ///< that one's link; empty: none
  std::optional<uint32_t> number;  ///< of a VF below its physical function, of a subfunction
  std::string link_type;           ///< "ether" or "infiniband"; empty: has no link
  std::string acpi_index;          ///< empty: the firmware names none
  std::optional<uint16_t> pkey;    ///< of an InfiniBand port
  std::string ddp_profile;         ///< see DdpProfiles; empty: unknown, or no selector needs it
  std::string aux_type;            ///< "sf" of "mlx5_core.sf.2"; empty: no auxiliary device
  std::optional<uint32_t> numa_node;
  std::vector<std::string> rdma_nodes;  ///< "uverbs0", "umad0", "issm0", below /dev/infiniband
  std::string rdma_name;                ///< "mlx5_2"; empty: unknown, or in a pod
  std::string vfio_group;               ///< "42"; empty: no IOMMU group
  bool vfio_without_iommu = false;
  std::string uio_node;      ///< "uio0"; empty: none
  std::optional<Vdpa> vdpa;  ///< the function's own

  bool operator==(const Device&) const = default;
};

}  // namespace kuryr::devices
