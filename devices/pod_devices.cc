#include "devices/pod_devices.h"

#include "kubelet/pod_resources.h"

namespace kuryr::devices {

PodDevices ListPodDevices(const std::filesystem::path& kubelet_dir, const Deadline& deadline) {
  PodDevices found;
  for (const kubelet::ListedPod& pod : kubelet::PodResources(kubelet_dir).List(deadline)) {
    for (const auto& [resource, ids] : pod.devices) {
      for (const std::string& id : ids) {
        found.resources.emplace(id, resource);
        found.pods.emplace(id, pod.name.ToString());
      }
    }
  }
  return found;
}

}  // namespace kuryr::devices
