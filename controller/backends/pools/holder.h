#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mac.h"
#include "controller/backends/pools/number.h"

namespace kuryr::controller::pools {

/// What one VIF has of one pool.
struct Holding {
  std::string ifname;
  std::vector<Number> addresses;
  MacAddress mac;
  uint16_t vlan = 0;  ///< 0: none
  uint16_t pool = 0;  ///< its index
  bool is_default = false;
  bool planned = false;  ///< the VIF is this pool's as a whole; else it is only kept from others
  bool beside = false;   ///< no VIF of the owner's plan has it; the owner may have it all the same
  bool others = false;   ///< a VIF of another producer's has it

  bool operator==(const Holding&) const = default;
};

/// An owner, known by the id it stands under. Half a million of them may be kept.
struct Holder {
  const std::string* id = nullptr;
  std::string scope;
  std::string name;
  std::string node;
  std::vector<Holding> holdings;

  [[nodiscard]] std::string FullName() const { return scope + "/" + name; }
};

}  // namespace kuryr::controller::pools
