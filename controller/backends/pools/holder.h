#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mac.h"
#include "controller/backends/pools/number.h"

namespace kuryr::controller::pools {

/// The resources of one pool that one VIF has.
struct Holding {
  std::string ifname;
  std::vector<Number> addresses;
  MacAddress mac;
  uint16_t vlan = 0;  ///< 0: none
  uint16_t pool = 0;  ///< the pool's index
  bool is_default = false;
  bool planned = false;  ///< the whole VIF is from this pool; else it is only kept from others
  bool beside = false;   ///< no VIF of the owner's plan has it; the owner may still use it
  bool others = false;   ///< another producer's VIF has it

  bool operator==(const Holding&) const = default;
};

/// An owner and what it holds; `id` is its key in a map. Up to half a million exist.
struct Holder {
  const std::string* id = nullptr;
  std::string scope;
  std::string name;
  std::string node;
  std::vector<Holding> holdings;

  [[nodiscard]] std::string FullName() const { return scope + "/" + name; }
};

}  // namespace kuryr::controller::pools
