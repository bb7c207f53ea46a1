#pragma once

#include <compare>
#include <vector>

#include "base/ip.h"

namespace kuryr::policy {

/// Addresses of a network, but for those of some of its parts (networking.k8s.io/v1, IPBlock).
struct AddressBlock {
  IpNetwork network;
  std::vector<IpNetwork> except;  ///< within `network`

  auto operator<=>(const AddressBlock&) const = default;

  [[nodiscard]] bool Contains(const IpAddress& address) const noexcept;
  /// Networks without exceptions that have the same addresses. Each exception adds at most as many
  /// of them as it is longer than `network`, in bits. An exception of all of it leaves none.
  [[nodiscard]] std::vector<IpNetwork> Networks() const;
};

}  // namespace kuryr::policy
