#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.h"

namespace kuryr::devices {

/// A physical function and some of its functions: "ens1f0#0,2-7". Without '#', all of its
/// functions.
struct FunctionSet {
  std::string pf;  ///< a link's name, or a PCI address
  std::optional<std::vector<std::pair<uint32_t, uint32_t>>> numbers;  ///< from, to (inclusive)

  /// nullopt for malformed text.
  [[nodiscard]] static std::optional<FunctionSet> Parse(const std::string& text);
  [[nodiscard]] bool Has(const std::string& pf_of_device,
                         const std::optional<uint32_t>& number) const;

  bool operator==(const FunctionSet&) const = default;
};

/// One entry of config.json's selectors. A device must match one element of each list that is not
/// empty.
struct Selector {
  std::vector<std::string> vendors;
  std::vector<std::string> codes;  ///< "devices"
  std::vector<std::string> drivers;
  std::vector<std::string> pci_addresses;
  std::vector<std::string> acpi_indexes;
  std::vector<FunctionSet> pf_names;
  std::vector<FunctionSet> root_devices;
  std::vector<std::string> link_types;
  std::vector<std::string> ddp_profiles;
  std::vector<uint16_t> pkeys;
  std::vector<std::string> aux_types;
  bool is_rdma = false;
  bool need_vhost_net = false;  ///< selects nothing: what its pods get besides
  std::optional<VdpaType> vdpa_type;

  [[nodiscard]] bool Matches(const Device& device) const;

  bool operator==(const Selector&) const = default;
};

}  // namespace kuryr::devices
