#include "devices/pod_devices.h"

#include "kubelet/message.h"
#include "kubelet/methods.h"
#include "kubelet/podresources.pb.h"

namespace kuryr::devices {

PodDevices ListPodDevices(const std::filesystem::path& kubelet_dir, const Deadline& deadline) {
  namespace v1 = kubelet::v1;
  const auto list = kubelet::Ask<v1::ListPodResourcesResponse>(
      {.socket = kubelet_dir / "pod-resources/kubelet.sock", .method = kubelet::kListPodResources},
      v1::ListPodResourcesRequest(), deadline);
  PodDevices found;
  for (const v1::PodResources& pod : list.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        for (const std::string& id : devices.device_ids()) {
          found.resources.emplace(id, devices.resource_name());
          found.pods.emplace(id, pod.namespace_() + "/" + pod.name());
        }
      }
    }
  }
  return found;
}

}  // namespace kuryr::devices
