#pragma once

#include <cstdint>
#include <string_view>

#include "base/names.h"

namespace kuryr::vif {

/// The values that a field accepts, beyond its C++ type. An error names `expected`.
struct Rule {
  bool (*text)(std::string_view) = nullptr;  ///< for texts; nullptr: any
  bool (*number)(int64_t) = nullptr;         ///< for integers; nullptr: any
  std::string_view expected;
  bool nullable = false;
  /// The class's version in the later os-vif that added this field. Encode writes it if the field
  /// is set.
  std::string_view since;
};

/// 32 hexadecimal digits in 8-4-4-4-12, each dash optional: oslo.versionedobjects' UUID pattern.
[[nodiscard]] bool IsUuid(std::string_view text);
[[nodiscard]] bool IsEmptyOrPciAddress(std::string_view text);
[[nodiscard]] bool IsEmptyOrFileName(std::string_view text);
[[nodiscard]] bool IsEmptyOrVlanName(std::string_view text);

[[nodiscard]] bool IsVlanId(int64_t number);
[[nodiscard]] bool IsMtu(int64_t number);

inline constexpr Rule kAny = {};
inline constexpr Rule kUuid = {.text = IsUuid, .expected = "a UUID"};
inline constexpr Rule kInterfaceName = {
    .text = IsLinkName,
    .expected = "an interface name (1 to 15 printable ASCII characters, no '/', ':' or space)"};
inline constexpr Rule kVlanId = {.number = IsVlanId, .expected = "a VLAN id, 1 to 4094"};
inline constexpr Rule kMtu = {.number = IsMtu, .expected = "an MTU, 68 to 65535, or 0 for none"};
// Texts that may be empty.
inline constexpr Rule kPciAddressText = {.text = IsEmptyOrPciAddress,
                                         .expected = "a PCI address (0000:03:10.1) or nothing"};
inline constexpr Rule kDriverName = {
    .text = IsEmptyOrFileName, .expected = "a driver's name (printable ASCII, no '/') or nothing"};
inline constexpr Rule kVlanName = {
    .text = IsEmptyOrVlanName,
    .expected = "a VLAN id, 1 to 4094, the name of a VLAN interface, or nothing"};

[[nodiscard]] constexpr Rule Nullable(Rule rule) {
  rule.nullable = true;
  return rule;
}
[[nodiscard]] constexpr Rule Since(std::string_view version, Rule rule = kAny) {
  rule.since = version;
  return rule;
}

}  // namespace kuryr::vif
