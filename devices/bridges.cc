#include "devices/bridges.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/deadline.h"
#include "base/log.h"
#include "binding/ovs/bridge_list.h"
#include "binding/plan/allowed.h"
#include "devices/sysfs_folder.h"
#include "ovsdb/client.h"

namespace kuryr::devices {
namespace {

constexpr const char* kOvsPrefix = "ovs-cni.network.kubevirt.io";
constexpr const char* kKernelPrefix = "bridge.network.kubevirt.io";
constexpr const char* kPhysnetPrefix = "physnet.openstack.org";
constexpr std::chrono::seconds kMostAsking{1};

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Adds a resource if Kubernetes accepts its name.
void Add(std::vector<Resource>& resources, const char* prefix, const std::string& name) {
  if (IsResourceName(name))
    resources.push_back({.prefix = prefix, .name = name, .type = DeviceType::kPlace});
}

}  // namespace

std::vector<Resource> Bridges::Find() {
  if (!offer_.ovs.empty() || !offer_.physnets.empty()) AskOpenVSwitch();
  std::vector<Resource> found;
  const SysfsFolder links(sysfs_ / "class/net");
  for (const std::string& name : links.Entries()) {
    if (binding::HasPatternFor(offer_.kernel, name) && links.At(name).Has("bridge"))
      Add(found, kKernelPrefix, name);
  }
  for (const std::string& name : of_ovs_) {
    if (binding::HasPatternFor(offer_.ovs, name)) Add(found, kOvsPrefix, name);
  }
  for (const auto& [physnet, bridge] : offer_.physnets) {
    if (Has(of_ovs_, bridge)) Add(found, kPhysnetPrefix, physnet);
  }
  return found;
}

void Bridges::AskOpenVSwitch() {
  try {
    if (offer_.ovsdb_connection.starts_with("ssl:"))
      OvsdbClient::UseTls(offer_.ssl_key_file, offer_.ssl_cert_file, offer_.ssl_ca_cert_file);
    of_ovs_ = binding::ListBridges(offer_.ovsdb_connection, Deadline::After(kMostAsking));
    problem_.clear();
  } catch (const std::exception& e) {
    if (problem_ != e.what())
      Log(LogLevel::kWarning, "Open vSwitch does not tell its bridges; they stay as they were",
          {{"error", e.what()}});
    problem_ = e.what();
  }
}

std::vector<Device> Bridges::PlacesAt(const Resource& bridge) const {
  std::vector<Device> places;
  places.reserve(offer_.places);
  const std::string prefix = bridge.FullName() + "#";
  for (uint32_t number = 0; number < offer_.places; ++number)
    places.push_back({.id = prefix + std::to_string(number), .type = DeviceType::kPlace});
  return places;
}

bool IsOfBridge(const BridgeOffer& offer, std::string_view uevent) {
  constexpr std::string_view kLinks = "@/devices/virtual/net/";
  const size_t at = uevent.find(kLinks);
  if (at == std::string_view::npos) return false;
  const std::string name(uevent.substr(at + kLinks.size()));
  const bool is_mapped = std::any_of(offer.physnets.begin(), offer.physnets.end(),
                                     [&](const auto& mapping) { return mapping.second == name; });
  return is_mapped || binding::HasPatternFor(offer.ovs, name) ||
         binding::HasPatternFor(offer.kernel, name);
}

}  // namespace kuryr::devices
