#include "cni/pod/network_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kuryr::cni {
namespace {

using nlohmann::ordered_json;

std::string NameOf(const PluggedVif& plugged, const std::string& otherwise) {
  const vif::VifBase& vif = vif::Common(plugged.vif.vif);
  if (plugged.vif.is_default || !vif.network.has_value()) return otherwise;
  const std::string label = vif.network->label.value_or("");
  return label.empty() ? vif.network->id.value_or(otherwise) : label;
}

/// The entry's device-info (Device Information Specification 1.1.0); null when it is no device.
ordered_json DeviceInfoOf(const ResultInterface& interface) {
  const auto info = [](const char* type, ordered_json device) {
    return ordered_json{{"type", type}, {"version", "1.1.0"}, {type, std::move(device)}};
  };
  if (!interface.pci_id.empty()) return info("pci", {{"pci-address", interface.pci_id}});
  if (!interface.socket_path.empty()) return info("vhost-user", {{"path", interface.socket_path}});
  return nullptr;
}

ordered_json DnsOf(const Dns& dns) {
  ordered_json object = ordered_json::object();
  if (!dns.nameservers.empty()) object["nameservers"] = dns.nameservers;
  return object;
}

ordered_json EntryOf(const std::string& name, const PluggedVif& plugged) {
  const Result made = MakeResult({plugged}, "pod");
  const auto in_pod =
      std::find_if(made.interfaces.begin(), made.interfaces.end(),
                   [](const auto& interface) { return !interface.sandbox.empty(); });
  ordered_json entry = {{"name", name}, {"interface", plugged.vif.ifname}};
  for (const ResultIp& ip : made.ips) entry["ips"].push_back(ip.address.address.ToString());
  if (in_pod != made.interfaces.end()) {
    if (!in_pod->mac.empty()) entry["mac"] = in_pod->mac;
    if (in_pod->mtu != 0) entry["mtu"] = in_pod->mtu;
  }
  if (plugged.vif.is_default) entry["default"] = true;
  entry["dns"] = DnsOf(made.dns);
  if (in_pod != made.interfaces.end()) {
    ordered_json device = DeviceInfoOf(*in_pod);
    if (!device.is_null()) entry["device-info"] = std::move(device);
  }
  return entry;
}

}  // namespace

ordered_json NetworkStatusOf(const std::string& network, const std::vector<PluggedVif>& vifs) {
  ordered_json status = ordered_json::array();
  for (const PluggedVif& plugged : vifs)
    status.push_back(EntryOf(NameOf(plugged, network), plugged));
  return status;
}

}  // namespace kuryr::cni
