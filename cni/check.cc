#include "cni/check.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "binding/l3.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"
#include "cni/local/delegate.h"
#include "cni/protocol/error.h"

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

/// The pod's interface `ifname` as the chain left it. Null where the version has no interfaces.
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

/// The VIF without what prevResult does not tell of any more, and with the MAC that it tells.
vif::Vif AsTold(const vif::PodVif& planned, const Result& previous,
                const ResultInterface* interface) {
  vif::Vif told = planned.vif;
  vif::VifBase& vif = vif::Common(told);
  if (interface != nullptr) {
    if (const auto mac = MacAddress::Parse(interface->mac)) vif.address = *mac;
    // That of the pod's end is compared with prevResult's; the host's end keeps the VIF's.
    const auto mtu = vif::MtuOf(vif);
    if (interface->mtu != 0 && mtu && *mtu != interface->mtu) vif.network->mtu = vif::Null{};
  }
  const binding::L3Plan plan = binding::PlanL3(vif, planned.is_default);
  std::vector<vif::Subnet> subnets;
  for (const auto& address : plan.addresses) {
    const bool told_of = std::any_of(previous.ips.begin(), previous.ips.end(),
                                     [&](const auto& ip) { return ip.address == address.network; });
    if (!told_of) continue;
    vif::Subnet& subnet = subnets.emplace_back();
    subnet.cidr = address.network;
    subnet.ips = vif::FixedIpList{
        .objects = std::vector<vif::FixedIp>{{.address = address.network.address}}};
  }
  std::vector<vif::Route> routes;
  for (const binding::LinkRoute& route : plan.routes) {
    const bool told_of =
        std::any_of(previous.routes.begin(), previous.routes.end(), [&](const ResultRoute& known) {
          return known.destination == route.destination && known.gateway == route.gateway;
        });
    if (!told_of) continue;
    routes.push_back({.cidr = route.destination});
    if (route.gateway) routes.back().gateway = *route.gateway;
  }
  if (!routes.empty() && subnets.empty()) subnets.push_back({.cidr = routes.front().cidr});
  if (!routes.empty()) subnets.front().routes = vif::RouteList{.objects = std::move(routes)};
  vif.network->subnets = vif::SubnetList{.objects = std::move(subnets)};
  return told;
}

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
  for (size_t i = 0; i < record.vifs.size(); ++i) {
    const binding::Plug& plug = record.plugs[i];
    const ResultInterface* interface = FindInterface(previous, plug.ifname, pod, call.request);
    const vif::Vif told = AsTold(record.vifs[i], previous, interface);
    const auto difference = call.node.binding.Check({.vif = told,
                                                     .plug = plug,
                                                     .attachment = record.attachment(),
                                                     .pod = pod,
                                                     .is_default = record.vifs[i].is_default,
                                                     .deadline = call.deadline});
    if (difference) ThrowDifference(*difference);
    CheckMtu(interface, pod);
  }
}

}  // namespace

void Check(const Call& call) {
  const Request& request = call.request;
  const auto record =
      call.node.attachments.Find({request.config.name, request.container_id, request.ifname});
  if (!record || !record->added) {
    throw CniError(ErrorCode::kUnknownContainer, "no attachment of this container and interface");
  }
  CheckVifs(call, *record);
  if (record->delegate_config.empty()) return;
  Delegate(request, request.config.json).Check(call.deadline);
}

}  // namespace kuryr::cni
