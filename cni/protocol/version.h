#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace kuryr::cni {

/// Versions of the CNI specification, in order of age: compare with <.
enum class SpecVersion { k010, k020, k030, k031, k040, k100, k110 };

inline constexpr std::array<std::string_view, 7> kSupportedVersions = {
    "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};

/// Exact text only: "1.0" and "v1.0.0" are no versions. Empty text means 0.1.0, which had no such
/// field.
[[nodiscard]] constexpr std::optional<SpecVersion> ParseVersion(std::string_view text) {
  if (text.empty()) return SpecVersion::k010;
  for (size_t i = 0; i < kSupportedVersions.size(); ++i) {
    if (kSupportedVersions[i] == text) return static_cast<SpecVersion>(i);
  }
  return std::nullopt;
}

[[nodiscard]] constexpr std::string_view ToString(SpecVersion version) {
  return kSupportedVersions[static_cast<size_t>(version)];
}

}  // namespace kuryr::cni
