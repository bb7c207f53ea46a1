#pragma once

#include <netlink/attr.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

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

/// The text in an attribute, which may end without a zero; empty without one.
[[nodiscard]] inline std::string TextIn(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const char* data = static_cast<const char*>(nla_data(attribute));
  return {data, ::strnlen(data, static_cast<size_t>(nla_len(attribute)))};
}

}  // namespace kuryr::binding
