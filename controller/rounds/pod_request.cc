#include "controller/rounds/pod_request.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/annotation_text.h"
#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "controller/plan/network_selection.h"
#include "controller/plan/security_groups.h"

namespace kuryr::controller {
namespace {

constexpr size_t kMostAddresses = 16;

[[noreturn]] void RefuseAnnotation(const char* annotation, const std::string& value,
                                   const char* expected) {
  throw PlanError(PlanError::Kind::kRefused, "annotation " + std::string(annotation) + ": \"" +
                                                 Printable(value) + "\"; expected " + expected);
}

std::vector<IpAddress> AddressesIn(const std::string& text) {
  std::vector<IpAddress> addresses;
  for (const std::string& item : ListItems(text)) {
    const auto address = IpAddress::Parse(item);
    if (!address || addresses.size() == kMostAddresses)
      RefuseAnnotation(kAddressesAnnotation, text, "up to 16 IP addresses, separated by commas");
    addresses.push_back(*address);
  }
  return addresses;
}

InterfaceRequest DefaultInterface(const PodFacts& pod) {
  InterfaceRequest interface{.ifname = std::string(vif::kDefaultIfname), .is_default = true};
  interface.addresses = AddressesIn(pod.addresses);
  if (pod.mac.empty()) return interface;
  interface.mac = ParseInterfaceMac(pod.mac);
  if (!interface.mac) RefuseAnnotation(kMacAnnotation, pod.mac, "the MAC address of one interface");
  return interface;
}

/// Pods of a StatefulSet have one template: in it, $(POD_NAME) stands for each one's name.
std::string ClaimNamed(const std::string& text, const PodFacts& pod) {
  constexpr std::string_view kPodName = "$(POD_NAME)";
  std::string name = Trimmed(text);
  const size_t at = name.find(kPodName);
  if (at != std::string::npos) name.replace(at, kPodName.size(), pod.name);
  if (IsDnsName(name)) return name;
  throw PlanError(PlanError::Kind::kRefused,
                  "\"" + Printable(text) + "\" names no IPAMClaim of this namespace");
}

/// The last of `interfaces` gets what the claim has, or will have.
void UseClaim(const std::string& text, const PodFacts& pod, IpamClaims& claims,
              std::vector<InterfaceRequest>& interfaces) {
  if (text.empty()) return;
  const IpamClaim claim =
      claims.Find(pod.name_space, ClaimNamed(text, pod), Key::OfPod(pod.name_space, pod.name));
  const std::string what = "IPAMClaim " + claim.owner.name;
  for (const InterfaceRequest& other : interfaces) {
    if (other.claim == claim.owner)
      throw PlanError(PlanError::Kind::kRefused, what + " is named by two interfaces");
  }
  InterfaceRequest& interface = interfaces.back();
  interface.claim = claim.owner;
  if (claim.ips.empty()) return;
  if (!interface.addresses.empty() && !claim.Has(interface.addresses))
    throw PlanError(PlanError::Kind::kRefused,
                    what + " has other addresses than interface " + interface.ifname + " asks for");
  interface.addresses = claim.addresses();
}

/// The default interface is the first of `interfaces`.
void AddSelected(const PodFacts& pod, NetworkAttachments& attachments, IpamClaims& claims,
                 std::vector<InterfaceRequest>& interfaces) {
  const Key key = Key::OfPod(pod.name_space, pod.name);
  for (NetworkSelection& selection : ParseNetworkSelections(pod.networks, pod.name_space)) {
    auto network = attachments.Find(selection.name_space, selection.name, key);
    if (!network) {
      Log(LogLevel::kDebug, "network is another plugin's",
          {{"pod", key.object}, {"definition", KeyOf(selection.name_space, selection.name)}});
      continue;
    }
    if (selection.has_default_route) interfaces.front().is_default = false;
    interfaces.push_back({.ifname = std::move(selection.ifname),
                          .is_default = selection.has_default_route,
                          .network = std::move(*network),
                          .addresses = std::move(selection.addresses),
                          .mac = selection.mac});
    UseClaim(selection.claim, pod, claims, interfaces);
  }
}

}  // namespace

PlanRequest PlanRequestOf(const PodFacts& pod, std::vector<IpNetwork> node_networks,
                          NetworkAttachments& attachments, IpamClaims& claims) {
  std::vector<InterfaceRequest> interfaces = {DefaultInterface(pod)};
  UseClaim(pod.claim, pod, claims, interfaces);
  AddSelected(pod, attachments, claims, interfaces);
  for (InterfaceRequest& interface : interfaces)
    interface.security_groups = SecurityGroupsIn(pod.security_groups);
  return {.owner = pod.owner(),
          .labels = pod.labels,
          .node_networks = std::move(node_networks),
          .interfaces = std::move(interfaces)};
}

}  // namespace kuryr::controller
