#include "controller/neutron/client/request_observer.h"

namespace kuryr::controller::neutron {

std::string_view NameOf(RequestKind kind) {
  using enum RequestKind;
  switch (kind) {
    case kToken:
      return "token";
    case kExtensions:
      return "extensions";
    case kNetworkGet:
      return "network_get";
    case kNetworkList:
      return "network_list";
    case kNetworkCreate:
      return "network_create";
    case kNetworkUpdate:
      return "network_update";
    case kNetworkTags:
      return "network_tags";
    case kNetworkDelete:
      return "network_delete";
    case kSubnetPoolGet:
      return "subnet_pool_get";
    case kSubnetGet:
      return "subnet_get";
    case kSubnetList:
      return "subnet_list";
    case kSubnetCreate:
      return "subnet_create";
    case kSubnetTags:
      return "subnet_tags";
    case kRouterInterface:
      return "router_interface";
    case kPortCreate:
      return "port_create";
    case kPortBulkCreate:
      return "port_bulk_create";
    case kPortUpdate:
      return "port_update";
    case kPortTags:
      return "port_tags";
    case kPortDelete:
      return "port_delete";
    case kPortGet:
      return "port_get";
    case kPortList:
      return "port_list";
    case kPortPoll:
      return "port_poll";
    case kPortLook:
      return "port_look";
    case kNodePortList:
      return "node_port_list";
    case kSubPortAdd:
      return "subport_add";
    case kSubPortRemove:
      return "subport_remove";
    case kAddressPairs:
      return "address_pairs";
    case kQuotaGet:
      return "quota_get";
  }
  return "";
}

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
