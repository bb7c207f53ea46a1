#include "devices/commands/status_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "devices/bridges.h"
#include "devices/ddp_profiles.h"
#include "devices/drain.h"
#include "devices/inventory.h"
#include "devices/ownership.h"
#include "devices/plugin.h"
#include "devices/pod_devices.h"
#include "devices/resource_list.h"
#include "kubelet/message.h"
#include "kubelet/methods.h"
#include "service/table.h"

namespace kuryr::devices {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kMostAsking = 2s;
constexpr size_t kMostText = 1000;

/// The status, and the sources that did not answer.
struct Found {
  std::vector<Resource> resources;
  std::vector<Device> devices;
  json bridges = json::array();  ///< with their places
  PodDevices pods;
  Owners owners;
  bool drains = false;
  std::vector<std::string> gaps;
};

void RequireServed(const Config& config, const Resource& resource) {
  namespace v1beta1 = kubelet::v1beta1;
  (void)kubelet::Ask<v1beta1::DevicePluginOptions>(
      {.socket = config.kubelet_dir / "device-plugins" / EndpointOf(resource),
       .method = kubelet::kGetDevicePluginOptions},
      v1beta1::Empty(), Deadline::After(kMostAsking));
}

json ToJson(const Resource& bridge, const std::vector<Device>& places, const PodDevices& pods) {
  const auto taken = std::count_if(places.begin(), places.end(), [&](const Device& place) {
    return pods.resources.contains(place.id);
  });
  return {{"resource", bridge.FullName()}, {"places", places.size()}, {"taken", taken}};
}

Found LookAround(const Config& config) {
  Found found{.resources = ReadResourceList(config.config_file, config.resource_prefix),
              .devices = FindDevices(config.sysfs, FindDefaultRouteLinks()),
              .drains = Drain(config.devinfo_dir).is_on()};
  DdpProfiles::OfKernel().Fill(found.resources, found.devices);
  Bridges bridges(config.bridges, config.sysfs);
  const std::vector<Resource> bridge_resources = bridges.Find();
  std::vector<Resource> all = found.resources;
  all.insert(all.end(), bridge_resources.begin(), bridge_resources.end());
  for (const Resource& resource : all) {
    try {
      RequireServed(config, resource);
    } catch (const std::exception& e) {
      found.gaps.push_back(resource.FullName() + " is not served: " + e.what());
    }
  }
  try {
    found.pods = ListPodDevices(config.kubelet_dir, Deadline::After(kMostAsking));
  } catch (const std::exception& e) {
    found.gaps.push_back("pods are not known: " + std::string(e.what()));
  }
  for (const Resource& bridge : bridge_resources)
    found.bridges.push_back(ToJson(bridge, bridges.PlacesAt(bridge), found.pods));
  found.owners = FindOwners(found.resources, found.devices, found.pods.resources);
  return found;
}

json OrNull(const std::string& text) { return text.empty() ? json() : json(text); }
json OrNull(const std::optional<uint32_t>& number) { return number ? json(*number) : json(); }

json ToJson(const Device& device, const Found& found) {
  const auto owner = found.owners.find(device.id);
  const auto pod = found.pods.pods.find(device.id);
  return {{"id", device.id},
          {"resource", owner == found.owners.end() ? json() : json(owner->second)},
          {"driver", OrNull(device.driver)},
          {"pf", OrNull(device.pf)},
          {"number", OrNull(device.number)},
          {"numa_node", OrNull(device.numa_node)},
          {"pod", pod == found.pods.pods.end() ? json() : json(pod->second)}};
}

json RowsOf(const Found& found, const std::string& pod) {
  json rows = json::array();
  for (const Device& device : found.devices) {
    json row = ToJson(device, found);
    if (pod.empty() || row["pod"] == pod) rows.push_back(std::move(row));
  }
  return rows;
}

json ToJson(const Found& found, const std::string& pod) {
  return {{"version", KURYR_VERSION},
          {"devices", RowsOf(found, pod)},
          {"bridges", found.bridges},
          {"drains", found.drains},
          {"gaps", found.gaps}};
}

void PrintTable(const json& rows) {
  if (rows.empty()) return;
  const auto number = [](const json& value) { return value.is_null() ? "" : value.dump(); };
  std::vector<std::vector<std::string>> table = {
      {"DEVICE", "RESOURCE", "DRIVER", "PF", "VF", "NUMA", "POD"}};
  for (const json& row : rows) {
    table.push_back({StringAt(row, "id"), StringAt(row, "resource"), StringAt(row, "driver"),
                     StringAt(row, "pf"), number(row["number"]), number(row["numa_node"]),
                     StringAt(row, "pod")});
  }
  std::printf("%s", service::Table(std::move(table)).c_str());
}

void PrintBridges(const json& bridges) {
  if (bridges.empty()) return;
  std::vector<std::vector<std::string>> table = {{"BRIDGE", "PLACES", "TAKEN"}};
  for (const json& row : bridges)
    table.push_back({StringAt(row, "resource"), row["places"].dump(), row["taken"].dump()});
  std::printf("%s", service::Table(std::move(table)).c_str());
}

}  // namespace

int PrintStatus(const Config& config, const service::StatusOptions& wanted) {
  const Found found = LookAround(config);
  if (wanted.as_json) {
    service::PrintJson(ToJson(found, wanted.pod));
  } else {
    std::printf("kuryr-devices %s: %zu resources, %zu devices, %zu of them offered\n",
                KURYR_VERSION, found.resources.size(), found.devices.size(), found.owners.size());
    if (found.drains) std::printf("drained: what no pod has goes to none\n");
    for (const std::string& gap : found.gaps)
      std::printf("%s\n", Printable(gap, kMostText).c_str());
    PrintTable(RowsOf(found, wanted.pod));
    if (wanted.pod.empty()) PrintBridges(found.bridges);
  }
  return found.gaps.empty() ? 0 : 1;
}

json StatusOf(const Config& config) { return ToJson(LookAround(config), ""); }

}  // namespace kuryr::devices
