#include "cni/commands/check.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"
#include "cni/attachments/record_check.h"
#include "cni/protocol/error.h"
#include "cni/standalone/delegate.h"

namespace kuryr::cni {
namespace {

[[noreturn]] void ThrowDifference(const std::string& difference) {
  throw CniError(ErrorCode::kCheckFailed, difference);
}

binding::Netns OpenPodNetns(const Request& request, const AttachmentRecord& record) {
  try {
    binding::Netns pod = binding::Netns::Open(request.netns_path());
    if (pod.id() != record.netns_id)
      ThrowDifference("CNI_NETNS is another network namespace than that of the ADD");
    return pod;
  } catch (const std::system_error& e) {
    throw CniError(ErrorCode::kInvalidEnvironment, "CNI_NETNS is no network namespace",
                   Printable(e.what(), 300));
  }
}

Result PreviousResult(const Request& request) {
  try {
    return DecodeResult(*request.config.prev_result, request.config.version, "$.prevResult");
  } catch (const ParseError& e) {
    throw CniError(ErrorCode::kInvalidConfig, "malformed prevResult", e.what());
  }
}

bool IsSameNamespace(const std::string& sandbox, const binding::Netns& pod) {
  try {
    return binding::Netns::Open(sandbox).id() == pod.id();
  } catch (const std::system_error&) {
    return false;
  }
}

/// The pod's interface `ifname` as the chain of plugins left it. Null where the version of the
/// result has no interfaces.
const ResultInterface* FindInterface(const Result& previous, const std::string& ifname,
                                     const binding::Netns& pod, const Request& request) {
  if (request.config.version < SpecVersion::k030) return nullptr;
  const auto found = std::find_if(previous.interfaces.begin(), previous.interfaces.end(),
                                  [&](const auto& interface) {
                                    return interface.name == ifname && !interface.sandbox.empty();
                                  });
  if (found == previous.interfaces.end())
    ThrowDifference("prevResult has no interface " + ifname + " in the container");
  if (found->sandbox != request.netns && !IsSameNamespace(found->sandbox, pod)) {
    ThrowDifference("prevResult has " + ifname + " in sandbox " + Printable(found->sandbox) +
                    ", CNI_NETNS is " + Printable(request.netns));
  }
  return &*found;
}

bool TellsOf(const Result& previous, const IpNetwork& address) {
  return std::any_of(previous.ips.begin(), previous.ips.end(),
                     [&](const ResultIp& ip) { return ip.address == address; });
}

bool TellsOf(const Result& previous, const binding::LinkRoute& route) {
  return std::any_of(previous.routes.begin(), previous.routes.end(), [&](const ResultRoute& told) {
    return told.destination == route.destination && told.gateway == route.gateway;
  });
}

/// Removes from the plan the addresses and routes that prevResult does not have, and takes over its
/// MAC.
void FollowResult(const Result& previous, const ResultInterface* interface,
                  binding::Planned& planned) {
  if (interface != nullptr) {
    if (const auto mac = MacAddress::Parse(interface->mac)) planned.mac = *mac;
  }
  std::erase_if(planned.l3.addresses,
                [&](const auto& address) { return !TellsOf(previous, address.network); });
  std::erase_if(planned.l3.routes, [&](const auto& route) { return !TellsOf(previous, route); });
}

/// Takes over the MAC that prevResult has, if it knows the interface: the rest of prevResult is
/// older than the VIF.
void FollowOlderResult(const Result& previous, binding::Planned& planned) {
  for (const ResultInterface& interface : previous.interfaces) {
    if (interface.name != planned.plug.ifname || interface.sandbox.empty()) continue;
    if (const auto mac = MacAddress::Parse(interface.mac)) planned.mac = *mac;
  }
}

/// Compares the MTU with prevResult's. Results before CNI 1.1.0 have none.
void CheckMtu(const ResultInterface* interface, const binding::Netns& pod) {
  if (interface == nullptr || interface->mtu == 0) return;
  const auto link = binding::RouteSocket::OpenIn(pod).FindLink(interface->name);
  if (!link || link->mtu == interface->mtu) return;
  ThrowDifference("interface " + interface->name + " has MTU " + std::to_string(link->mtu) +
                  " instead of " + std::to_string(interface->mtu));
}

void CheckVifs(const Call& call, const AttachmentRecord& record) {
  const binding::Netns pod = OpenPodNetns(call.request, record);
  const Result previous = PreviousResult(call.request);
  const RecordCheck check(call.node.binding, record, pod, call.deadline);
  for (size_t i = 0; i < record.vifs.size(); ++i) {
    const std::string& ifname = record.plugs.at(i).ifname;
    if (record.changing.contains(ifname)) continue;
    const ResultInterface* interface = nullptr;
    const auto differences = check.Check(i, [&](binding::Planned& planned) {
      if (record.later.contains(ifname)) return FollowOlderResult(previous, planned);
      interface = FindInterface(previous, planned.plug.ifname, pod, call.request);
      FollowResult(previous, interface, planned);
    });
    if (!differences.empty()) ThrowDifference(differences.front().text);
    CheckMtu(interface, pod);
  }
}

}  // namespace

std::string Check(const Call& call) {
  const Request& request = call.request;
  const auto record =
      call.node.attachments.Find({request.config.name, request.container_id, request.ifname});
  if (!record || !record->added) {
    throw CniError(ErrorCode::kUnknownContainer, "no attachment of this container and interface");
  }
  CheckVifs(call, *record);
  if (!record->delegate_config.empty()) Delegate(request, request.config.json).Check(call.deadline);
  return {};
}

}  // namespace kuryr::cni
