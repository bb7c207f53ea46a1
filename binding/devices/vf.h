#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "vif/pci_address.h"

namespace kuryr::binding {

/// A virtual function (SR-IOV), as sysfs describes it to the host.
struct Vf {
  vif::PciAddress address;
  std::string driver;          ///< of the kernel; empty: none
  std::string link;            ///< empty while it is in a pod, and with drivers that make none
  vif::PciAddress pf_address;  ///< its physical function's
  std::string pf;              ///< that one's link; empty: none
  uint32_t number = 0;         ///< by which the physical function knows it

  /// "virtual function 0000:03:10.1".
  [[nodiscard]] std::string ToString() const;
};

/// nullopt for what is not there or is no virtual function.
[[nodiscard]] std::optional<Vf> FindVf(const std::filesystem::path& sysfs,
                                       const vif::PciAddress& address);

/// The link through which a switch inside the card reaches the VF. It is of the physical function's
/// switch (phys_switch_id), and named after the VF (phys_port_name: pfNvfM, from older drivers M).
/// Where a driver names no ports, `expected` if it is a port of that switch. Throws
/// std::system_error, ENODEV.
[[nodiscard]] std::string FindRepresentor(const std::filesystem::path& sysfs, const Vf& vf,
                                          const std::string& expected);

/// A link of the host that stands on the VF's (macvlan, ipvlan, VLAN and the like), or that this is
/// a port of; empty: none. One in another namespace is not seen.
[[nodiscard]] std::string FindUpper(const std::filesystem::path& sysfs, const Vf& vf);

}  // namespace kuryr::binding
