#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr {

enum class IpFamily : uint8_t { kIpv4, kIpv6 };

/// One IPv4 or IPv6 address in network byte order; IPv4 fills the first 4 bytes.
struct IpAddress {
  IpFamily family = IpFamily::kIpv4;
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const IpAddress&) const = default;

  /// Strict dotted quad or RFC 4291 text without zone; nothing else.
  [[nodiscard]] static std::optional<IpAddress> Parse(std::string_view text);
  /// Canonical text (RFC 5952), as Python's netaddr and Go's net/netip print it.
  [[nodiscard]] std::string ToString() const;
  /// 4 or 16.
  [[nodiscard]] size_t size() const noexcept { return family == IpFamily::kIpv4 ? 4 : 16; }
};

/// ADDRESS/LENGTH; host bits are kept.
struct IpNetwork {
  IpAddress address;
  uint8_t prefix_length = 0;

  auto operator<=>(const IpNetwork&) const = default;

  /// ADDRESS/LENGTH; a missing length means the whole address (/32, /128).
  [[nodiscard]] static std::optional<IpNetwork> Parse(std::string_view text);
  /// 0.0.0.0/0 or ::/0.
  [[nodiscard]] static IpNetwork Default(IpFamily family);
  [[nodiscard]] std::string ToString() const;
  [[nodiscard]] bool Contains(const IpAddress& other) const noexcept;
  /// Without the host bits.
  [[nodiscard]] IpNetwork Masked() const noexcept;
};

}  // namespace kuryr
