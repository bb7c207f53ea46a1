#include "devices/ddp_profiles.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "binding/netlink/devlink.h"

namespace kuryr::devices {
namespace {

bool SelectsByProfile(const Resource& resource) {
  return std::any_of(resource.selectors.begin(), resource.selectors.end(),
                     [](const Selector& selector) { return !selector.ddp_profiles.empty(); });
}

}  // namespace

DdpProfiles DdpProfiles::OfKernel() {
  return DdpProfiles([](const std::string& function) {
    return binding::FindRunningVersion(function, "fw.app.name");
  });
}

void DdpProfiles::Fill(const std::vector<Resource>& resources, std::vector<Device>& devices) {
  if (std::none_of(resources.begin(), resources.end(), SelectsByProfile)) return;
  std::map<std::string, std::string> profiles;
  std::string without;
  for (Device& device : devices) {
    if (device.type != DeviceType::kNetDevice) continue;
    const std::string function = device.root_device.ToString();
    const auto [profile, is_new] = profiles.try_emplace(function);
    if (is_new) {
      profile->second = ask_(function);
      if (profile->second.empty()) without += (without.empty() ? "" : ",") + function;
    }
    device.ddp_profile = profile->second;
  }
  if (!without.empty() && without != without_)
    Log(LogLevel::kWarning,
        "cards tell no profile; no selector with ddpProfiles matches their devices",
        {{"functions", without}});
  without_ = without;
}

}  // namespace kuryr::devices
