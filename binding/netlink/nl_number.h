#pragma once

#include <netlink/attr.h>

#include <cstdint>
#include <cstring>
#include <optional>

namespace kuryr::binding {

/// The number in an attribute; nullopt without one, or in one that is too short for it.
template <typename Number>
[[nodiscard]] std::optional<Number> NumberIn(const nlattr* attribute) {
  if (attribute == nullptr || static_cast<size_t>(nla_len(attribute)) < sizeof(Number))
    return std::nullopt;
  Number number{};
  std::memcpy(&number, nla_data(attribute), sizeof number);
  return number;
}

}  // namespace kuryr::binding
