#include "cni/pod/pod_devices.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <type_traits>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "cni/protocol/error.h"
#include "kubelet/pod_resources.h"

namespace kuryr::cni {
namespace {

/// The kubelet answers within milliseconds.
constexpr std::chrono::seconds kKubeletTime{10};
constexpr size_t kLongestList = 300;

template <typename Kind>
constexpr bool kHasDevice =
    std::is_same_v<Kind, vif::VifSriov> || std::is_same_v<Kind, vif::VifHostDevice>;
template <typename Kind>
constexpr bool kIsDpdk = std::is_base_of_v<vif::VifNestedDpdk, Kind>;

bool TakesDevice(const vif::PodVif& vif) {
  return std::visit(
      []<typename Kind>(const Kind& /*own*/) { return kHasDevice<Kind> || kIsDpdk<Kind>; },
      vif.vif);
}

/// The device that the VIF names; nullopt when it names none.
std::optional<vif::PciAddress> DeviceOf(const vif::PodVif& vif) {
  return std::visit(
      []<typename Kind>(const Kind& own) -> std::optional<vif::PciAddress> {
        if constexpr (kHasDevice<Kind>) {
          if (own.dev_address.has_value()) return *own.dev_address;
        } else if constexpr (kIsDpdk<Kind>) {
          return vif::PciAddress::Parse(own.pci_address.value_or(""));
        }
        return std::nullopt;
      },
      vif.vif);
}

void SetDevice(vif::PodVif& vif, const vif::PciAddress& device) {
  std::visit(
      [&]<typename Kind>(Kind& own) {
        if constexpr (kHasDevice<Kind>) {
          own.dev_address = device;
        } else if constexpr (kIsDpdk<Kind>) {
          own.pci_address = device.ToString();
        }
      },
      vif.vif);
}

template <typename Texts>
std::string Joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return Printable(all, kLongestList);
}

std::set<std::string> NamesOf(const kubelet::DevicesByResource& devices) {
  std::set<std::string> names;
  for (const auto& [name, ids] : devices) names.insert(name);
  return names;
}

}  // namespace

void PodDevices::Assign(std::vector<vif::PodVif>& vifs) {
  GiveDeviceId(vifs);
  std::set<vif::PciAddress> taken;
  for (const vif::PodVif& vif : vifs) {
    if (const auto device = DeviceOf(vif)) taken.insert(*device);
  }
  for (vif::PodVif& vif : vifs) {
    if (!std::holds_alternative<vif::VifSriov>(vif.vif) || DeviceOf(vif)) continue;
    const VifKey key = {vif.ifname, Common(vif.vif).id.value_or("")};
    if (!chosen_.contains(key)) chosen_[key] = AskKubelet(vif, taken);
    SetDevice(vif, chosen_[key]);
    taken.insert(chosen_[key]);
  }
}

void PodDevices::GiveDeviceId(std::vector<vif::PodVif>& vifs) const {
  const std::string& id = sources_.request.wishes.device_id;
  if (id.empty() || std::none_of(vifs.begin(), vifs.end(), TakesDevice)) return;
  const auto device = vif::PciAddress::Parse(id);
  if (!device) {
    throw CniError(ErrorCode::kInvalidConfig,
                   "deviceID \"" + Printable(id) + "\" is no PCI address",
                   "runtimeConfig.deviceID, the network configuration or CNI_ARGS has it");
  }
  vif::PodVif* free = nullptr;
  std::string planned;
  for (vif::PodVif& vif : vifs) {
    const auto own = DeviceOf(vif);
    if (own == device) return;
    if (!TakesDevice(vif)) continue;
    if (own) planned += (planned.empty() ? "" : ", ") + own->ToString() + " for " + vif.ifname;
    if (!own && free == nullptr) free = &vif;
  }
  if (free == nullptr) {
    throw CniError(ErrorCode::kUnsupportedField,
                   "the plan of pod " + sources_.request.pod.key() + " has no place for deviceID " +
                       device->ToString(),
                   "it has " + planned);
  }
  SetDevice(*free, *device);
}

vif::PciAddress PodDevices::AskKubelet(const vif::PodVif& vif,
                                       const std::set<vif::PciAddress>& taken) const {
  const std::string resource = ResourceOf(vif);
  const std::set<std::string> ids = IdsOf(resource, vif);
  const auto held = Held();
  std::set<vif::PciAddress> candidates;
  for (const std::string& id : ids) {
    if (const auto device = vif::PciAddress::Parse(id)) candidates.insert(*device);
  }
  std::string in_use;
  for (const vif::PciAddress& device : candidates) {
    const auto holder = held.find(device);
    if (holder == held.end() && !taken.contains(device)) return device;
    in_use += (in_use.empty() ? "" : ", ") + device.ToString();
    if (holder == held.end()) continue;
    // The pod's user reads the error, and need not know of other pods.
    Log(LogLevel::kWarning, "the kubelet gave a device that another attachment has",
        {{"device", device.ToString()}, {"owner", holder->second}});
  }
  throw CniError(ErrorCode::kTryAgainLater,
                 "no device of resource " + resource + " is left for " + Describe(vif),
                 "the kubelet gave the pod " + Joined(ids) +
                     (in_use.empty() ? ", and no PCI device" : "; in use are " + in_use));
}

std::string PodDevices::ResourceOf(const vif::PodVif& vif) const {
  const std::string physnet = std::get<vif::VifSriov>(vif.vif).physnet.value_or("");
  const auto resource = sources_.config.resources.find(physnet);
  if (resource != sources_.config.resources.end()) return resource->second;
  throw CniError(ErrorCode::kInvalidConfig,
                 Describe(vif) + " names no device, nor does the runtime (deviceID)",
                 "the kubelet can be asked for one where [sriov] physnet_resource_mappings has a "
                 "resource for the VIF's physnet, which is \"" +
                     Printable(physnet) + "\"");
}

std::set<std::string> PodDevices::IdsOf(const std::string& resource, const vif::PodVif& vif) const {
  const kubelet::PodResources kubelet(sources_.config.kubelet_dir);
  const PodArgs& pod = sources_.request.pod;
  const std::string what = "no device of resource " + resource + " for " + Describe(vif);
  std::optional<kubelet::DevicesByResource> devices;
  try {
    devices = kubelet.DevicesOf({.name_space = pod.name_space, .name = pod.name},
                                sources_.deadline.AtMost(kKubeletTime));
  } catch (const kubelet::KubeletError& e) {
    throw CniError(ErrorCode::kTryAgainLater, what, e.what());
  }
  if (!devices) {
    throw CniError(ErrorCode::kTryAgainLater, what,
                   "the kubelet does not know the pod (" + kubelet.socket() + ")");
  }
  const auto found = devices->find(resource);
  if (found != devices->end() && !found->second.empty()) return found->second;
  const std::string others =
      devices->empty() ? "none" : "those of " + Joined(NamesOf(*devices)) + " alone";
  throw CniError(ErrorCode::kTryAgainLater, what,
                 "of devices the kubelet gave the pod " + others +
                     ": a container of the pod has to ask for the resource");
}

std::map<vif::PciAddress, std::string> PodDevices::Held() const {
  const Request& request = sources_.request;
  const AttachmentKey own = {request.config.name, request.container_id, request.ifname};
  std::map<vif::PciAddress, std::string> held;
  for (const AttachmentKey& key : sources_.attachments.List()) {
    if (key == own) continue;
    const auto record = sources_.attachments.Find(key);
    if (!record) continue;
    for (const binding::Plug& plug : record->plugs) {
      const auto device = vif::PciAddress::Parse(plug.device);
      if (device) held[*device] = "pod " + record->pod + " (container " + key.container_id + ")";
    }
  }
  return held;
}

std::string PodDevices::Describe(const vif::PodVif& vif) const {
  return "VIF " + vif.ifname + " of pod " + sources_.request.pod.key();
}

}  // namespace kuryr::cni
