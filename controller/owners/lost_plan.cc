#include "controller/owners/lost_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/annotation_text.h"
#include "base/json.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kMostStatusText = size_t{64} << 10;
constexpr size_t kMostStatusAddresses = 16;

/// The list in the annotation; empty if there is none that can be read.
json StatusesOn(const json& pod) {
  static const json::json_pointer kPlace =
      json::json_pointer("/metadata/annotations") / std::string(kNetworkStatusAnnotation);
  if (!pod.contains(kPlace) || !pod.at(kPlace).is_string()) return json::array();
  const auto& text = pod.at(kPlace).get_ref<const std::string&>();
  if (text.size() > kMostStatusText) return json::array();
  json statuses = json::parse(text, nullptr, false);
  return statuses.is_array() ? statuses : json::array();
}

std::vector<IpAddress> AddressesIn(const json& status) {
  std::vector<IpAddress> addresses;
  const auto ips = status.find("ips");
  if (ips == status.end() || !ips->is_array()) return addresses;
  for (const json& ip : *ips) {
    if (!ip.is_string() || addresses.size() == kMostStatusAddresses) continue;
    if (const auto address = IpAddress::Parse(ip.get<std::string>())) addresses.push_back(*address);
  }
  return addresses;
}

void Take(const json& status, std::vector<InterfaceRequest>& interfaces) {
  const std::string ifname = StringAt(status, "interface");
  const auto interface =
      std::find_if(interfaces.begin(), interfaces.end(),
                   [&](const InterfaceRequest& asked) { return asked.ifname == ifname; });
  if (ifname == vif::kDefaultIfname || interface == interfaces.end()) return;
  if (interface->addresses.empty()) interface->addresses = AddressesIn(status);
  if (!interface->mac) interface->mac = ParseInterfaceMac(StringAt(status, "mac"));
}

}  // namespace

void AskForTheSame(const PodFacts& pod, const json& object, PlanRequest& request) {
  for (InterfaceRequest& interface : request.interfaces) {
    if (interface.ifname == vif::kDefaultIfname) interface.addresses = pod.addresses_there;
  }
  if (request.interfaces.size() == 1) return;
  for (const json& status : StatusesOn(object)) {
    if (status.is_object()) Take(status, request.interfaces);
  }
}

bool TellsOfNone(const json& pod, const std::vector<IpAddress>& addresses) {
  const json statuses = StatusesOn(pod);
  return !statuses.empty() && std::none_of(statuses.begin(), statuses.end(), [&](const json& one) {
    if (!one.is_object()) return false;
    const std::vector<IpAddress> there = AddressesIn(one);
    return std::any_of(there.begin(), there.end(), [&](const IpAddress& address) {
      return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    });
  });
}

}  // namespace kuryr::controller
