#include "controller/backends/neutron/ports/plan_error_of.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = PlanError::Kind;

PlanError::Kind KindOf(const NeutronError& error) {
  switch (error.kind()) {
    case NeutronError::Kind::kUnavailable:
    case NeutronError::Kind::kThrottled:
    case NeutronError::Kind::kUnauthorized:
    case NeutronError::Kind::kForbidden:
    case NeutronError::Kind::kUntrusted:
    case NeutronError::Kind::kPrecondition:
    case NeutronError::Kind::kTooLong:
      return Kind::kRetry;
    case NeutronError::Kind::kNotFound:
      return Kind::kGone;
    case NeutronError::Kind::kQuota:
    case NeutronError::Kind::kExhausted:
      return Kind::kExhausted;
    case NeutronError::Kind::kConflict:
    case NeutronError::Kind::kBadRequest:
      return Kind::kRefused;
  }
  return Kind::kRetry;
}

/// The last 8 bytes are enough: whoever has more of IPv6 does not run out.
uint64_t NumberOf(const IpAddress& address) {
  uint64_t number = 0;
  for (size_t i = address.size() - std::min<size_t>(address.size(), 8); i < address.size(); ++i)
    number = number << 8U | address.bytes.at(i);
  return number;
}

/// Subnet and how many addresses Neutron gives of it.
std::string Sizes(const PodNetwork& network) {
  std::string text;
  for (const Subnet& subnet : network.subnets) {
    uint64_t size = 0;
    for (const AddressRange& range : subnet.allocation_pools)
      size += NumberOf(range.last) - NumberOf(range.first) + 1;
    text += (text.empty() ? "" : ", ") + Printable(subnet.name) + " " + subnet.cidr.ToString() +
            " gives " + std::to_string(size) + " addresses";
  }
  return text;
}

/// As many as there are, those that are being made among them.
std::string Figures(const std::optional<PortQuota>& quota) {
  if (!quota || quota->limit < 0) return "as many ports as its quota of Neutron allows";
  return std::to_string(quota->used + quota->reserved) +
         " ports, and its quota of Neutron allows " + std::to_string(quota->limit);
}

std::string TextOf(const NeutronError& error, const PodNetwork* network,
                   const std::optional<PortQuota>& quota) {
  std::string text = error.what();
  if (network == nullptr) return text;
  if (error.kind() == NeutronError::Kind::kExhausted) {
    text += ": network " + Printable(network->network.name) +
            " has no free address: " + Sizes(*network);
  }
  if (error.kind() == NeutronError::Kind::kQuota) text += ": the project has " + Figures(quota);
  return text;
}

}  // namespace

PlanError PlanErrorOf(const NeutronError& error, const PodNetwork* network,
                      const std::optional<PortQuota>& quota) {
  std::optional<std::chrono::milliseconds> rest;
  if (error.retry_after()) rest = *error.retry_after();
  return {KindOf(error), TextOf(error, network, quota), rest};
}

}  // namespace kuryr::controller::neutron
