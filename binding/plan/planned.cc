#include "binding/plan/planned.h"

#include <algorithm>

#include "base/error.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {
namespace {

MacAddress UnicastOf(const vif::VifBase& vif) {
  const MacAddress mac = vif::Required(vif.address, "$.address");
  if (!mac.IsUnicast())
    throw ParseError("$.address",
                     "is " + mac.ToString() + ", which no interface can have: expected unicast");
  return mac;
}

/// ConfigureL3 tells of a link below that is too small.
void RequireIpv6Mtu(const vif::VifBase& vif, const L3Plan& plan) {
  const std::optional<uint32_t> mtu = vif::MtuOf(vif);
  const L3Plan::Address* address = FindIpv6(plan);
  if (!mtu || *mtu >= kLeastIpv6Mtu || address == nullptr) return;
  throw ParseError("$.network.mtu", "is " + std::to_string(*mtu) + ", too small for address " +
                                        address->network.ToString() + ": IPv6 needs " +
                                        std::to_string(kLeastIpv6Mtu));
}

bool IsMacOf(const MacAddress& mac, const IpAddress& address) {
  MacAddress made{.bytes = {0x0a, 0x58}};
  std::copy_n(address.bytes.begin(), 4, made.bytes.begin() + 2);
  return address.family == IpFamily::kIpv4 && mac == made;
}

}  // namespace

uint32_t PlannedMtu::On(uint32_t below) const {
  const uint32_t mtu = of_network_.value_or(below);
  return limit_ > 0 ? std::min(limit_, mtu) : mtu;
}

Planned PlanCommon(const vif::PodVif& vif, const Plug& plug, const BindingConfig& config) {
  const vif::VifBase& common = vif::Common(vif.vif);
  Planned planned{.plug = plug};
  planned.mac = UnicastOf(common);
  planned.mtu = {vif::MtuOf(common), config.network_device_mtu};
  planned.l3 = PlanL3(common, vif.is_default);
  RequireIpv6Mtu(common, planned.l3);
  return planned;
}

bool HasMacOfAddresses(const Planned& planned) {
  return std::all_of(
      planned.l3.addresses.begin(), planned.l3.addresses.end(),
      [&](const L3Plan::Address& each) { return IsMacOf(planned.mac, each.network.address); });
}

void PlanLimits(const RateLimits& limits, Planned& planned) {
  if (!limits.IsAny()) return;
  if (!planned.port) {
    throw UnsupportedLimit("driver " + planned.plug.driver +
                           " sets no limits: only ports of Open vSwitch have some");
  }
  OvsPort& port = *planned.port;
  port.limits = PortLimitsOf(limits);
  if (port.limits.max_rate == 0) return;
  const bool is_dpdk = port.type.starts_with("dpdk");
  port.qos_type = is_dpdk ? OpenVSwitch::kDpdkQos : OpenVSwitch::kKernelQos;
  if (is_dpdk) port.limits.max_burst = PolicerBurst(limits.received);
}

}  // namespace kuryr::binding
