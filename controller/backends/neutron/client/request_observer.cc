#include "controller/backends/neutron/client/request_observer.h"

#include <array>
#include <cstddef>

namespace kuryr::controller::neutron {
namespace {

/// In the order of RequestKind.
constexpr std::array<std::string_view, 34> kNames = {
    "token",           "extensions",       "network_get",   "network_list",
    "network_create",  "network_update",   "network_tags",  "network_delete",
    "subnet_pool_get", "subnet_get",       "subnet_list",   "subnet_create",
    "subnet_tags",     "router_interface", "port_create",   "port_bulk_create",
    "port_update",     "port_tags",        "port_delete",   "port_get",
    "port_list",       "port_poll",        "port_look",     "node_port_list",
    "subport_add",     "subport_remove",   "address_pairs", "quota_get",
    "group_list",      "group_create",     "group_tags",    "group_delete",
    "rule_create",     "rule_delete",
};
static_assert(kNames.size() == static_cast<size_t>(RequestKind::kRuleDelete) + 1);

}  // namespace

std::string_view NameOf(RequestKind kind) { return kNames.at(static_cast<size_t>(kind)); }

std::string_view NameOf(std::optional<NeutronError::Kind> failure) {
  using enum NeutronError::Kind;
  if (!failure) return "ok";
  switch (*failure) {
    case kUnavailable:
      return "unavailable";
    case kThrottled:
      return "throttled";
    case kUnauthorized:
      return "unauthorized";
    case kForbidden:
      return "forbidden";
    case kUntrusted:
      return "untrusted";
    case kNotFound:
      return "not_found";
    case kConflict:
      return "conflict";
    case kQuota:
      return "quota";
    case kExhausted:
      return "exhausted";
    case kPrecondition:
      return "precondition";
    case kTooLong:
      return "too_long";
    case kBadRequest:
      return "bad_request";
  }
  return "";
}

}  // namespace kuryr::controller::neutron
