#include "base/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace kuryr {

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  const std::string terminated(text);
  IpAddress address;
  address.family = text.find(':') == std::string_view::npos ? IpFamily::kIpv4 : IpFamily::kIpv6;
  const int family = address.family == IpFamily::kIpv4 ? AF_INET : AF_INET6;
  if (::inet_pton(family, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(family == IpFamily::kIpv4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

std::optional<IpNetwork> IpNetwork::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const auto bits = static_cast<uint8_t>(address->size() * 8);
  IpNetwork network{*address, bits};
  if (slash == std::string_view::npos) return network;

  const std::string_view length = text.substr(slash + 1);
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), network.prefix_length);
  if (error != std::errc() || end != length.data() + length.size() ||
      network.prefix_length > bits) {
    return std::nullopt;
  }
  return network;
}

IpNetwork IpNetwork::Default(IpFamily family) {
  return {.address = {.family = family}, .prefix_length = 0};
}

std::string IpNetwork::ToString() const {
  return address.ToString() + "/" + std::to_string(prefix_length);
}

bool IpNetwork::Contains(const IpAddress& other) const noexcept {
  return IpNetwork{other, prefix_length}.Masked() == Masked();
}

IpNetwork IpNetwork::Masked() const noexcept {
  IpNetwork network = *this;
  for (size_t bit = prefix_length; bit < address.size() * 8; ++bit)
    network.address.bytes[bit / 8] &= static_cast<uint8_t>(~(0x80U >> bit % 8));
  return network;
}

}  // namespace kuryr
