#include "vif/vif.h"

#include "vif/schema.h"

namespace kuryr::vif {
namespace {

template <typename... Classes>
std::string_view NameOf(const std::variant<Classes...>& object) {
  return std::visit(
      []<typename Class>(const Class&) { return std::string_view(Schema<Class>::kName); }, object);
}

}  // namespace

const VifBase& Common(const Vif& vif) {
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): std::visit passes what `vif` holds
  return std::visit([](const VifBase& base) -> const VifBase& { return base; }, vif);
}

VifBase& Common(Vif& vif) {
  return std::visit([](VifBase& base) -> VifBase& { return base; }, vif);
}

std::string_view ClassName(const Vif& vif) { return NameOf(vif); }
std::string_view ClassName(const PortProfile& profile) { return NameOf(profile); }

std::optional<std::string> VifNameOf(const Vif& vif) {
  return std::visit(
      [](const auto& kind) -> std::optional<std::string> {
        if constexpr (requires { kind.vif_name; }) {
          if (kind.vif_name.has_value()) return *kind.vif_name;
        }
        return std::nullopt;
      },
      vif);
}

std::vector<IpNetwork> FixedIpsOf(const VifBase& vif, const Subnet& subnet) {
  const bool in_subnet = subnet.ips.is_set();
  const Field<FixedIpList>& list = in_subnet ? subnet.ips : vif.fixed_ips;
  std::vector<IpNetwork> addresses;
  if (!list.has_value()) return addresses;
  for (const FixedIp& ip : *list) {
    if (!ip.address.has_value()) continue;
    const bool has_cidr = subnet.cidr.has_value();
    if (!in_subnet && !(has_cidr && subnet.cidr->Contains(*ip.address))) continue;
    const auto whole = static_cast<uint8_t>(ip.address->size() * 8);
    const bool same_family = has_cidr && subnet.cidr->address.family == ip.address->family;
    addresses.push_back({*ip.address, same_family ? subnet.cidr->prefix_length : whole});
  }
  return addresses;
}

std::vector<IpNetwork> AddressesOf(const VifBase& vif) {
  std::vector<IpNetwork> addresses;
  if (!vif.network.has_value() || !vif.network->subnets.has_value()) return addresses;
  for (const Subnet& subnet : *vif.network->subnets) {
    const std::vector<IpNetwork> own = FixedIpsOf(vif, subnet);
    addresses.insert(addresses.end(), own.begin(), own.end());
  }
  return addresses;
}

std::optional<uint32_t> MtuOf(const VifBase& vif) {
  if (!vif.network.has_value()) return std::nullopt;
  const uint32_t mtu = vif.network->mtu.value_or(0);
  return mtu == 0 ? std::nullopt : std::optional(mtu);
}

}  // namespace kuryr::vif
