#include "kubelet/pod_resources.h"

#include <system_error>

#include "kubelet/message.h"
#include "kubelet/methods.h"
#include "kubelet/podresources.pb.h"

namespace kuryr::kubelet {
namespace {

void Add(const v1::PodResources& pod, DevicesByResource& devices) {
  for (const v1::ContainerResources& container : pod.containers()) {
    for (const v1::ContainerDevices& some : container.devices()) {
      auto& ids = devices[some.resource_name()];
      ids.insert(some.device_ids().begin(), some.device_ids().end());
    }
  }
}

/// The answer is about this pod: a kubelet that knows only names has others of the same name.
bool IsOf(const v1::PodResources& resources, const PodName& pod) {
  return resources.name() == pod.name && resources.namespace_() == pod.name_space;
}

std::optional<DevicesByResource> Get(const std::string& socket, const PodName& pod,
                                     const Deadline& deadline) {
  v1::GetPodResourcesRequest request;
  request.set_pod_name(pod.name);
  request.set_pod_namespace(pod.name_space);
  const auto answer = Ask<v1::GetPodResourcesResponse>(
      {.socket = socket, .method = kGetPodResources}, request, deadline);
  if (!IsOf(answer.pod_resources(), pod)) return std::nullopt;
  DevicesByResource devices;
  Add(answer.pod_resources(), devices);
  return devices;
}

std::optional<DevicesByResource> List(const CallRequest& request, const PodName& pod,
                                      const Deadline& deadline) {
  const auto answer =
      Ask<v1::ListPodResourcesResponse>(request, v1::ListPodResourcesRequest(), deadline);
  std::optional<DevicesByResource> devices;
  for (const v1::PodResources& resources : answer.pod_resources()) {
    if (!IsOf(resources, pod)) continue;
    if (!devices) devices.emplace();
    Add(resources, *devices);
  }
  return devices;
}

/// A method that is switched off, or a pod that Get does not find, are UNKNOWN to the kubelet:
/// whatever it says itself is tried with the next method.
bool IsRefusal(const CallError& error) {
  const StatusCode code = error.status().code;
  return code == StatusCode::kUnimplemented || code == StatusCode::kUnknown ||
         code == StatusCode::kNotFound;
}

std::optional<DevicesByResource> AskEach(const std::string& socket, const PodName& pod,
                                         const Deadline& deadline) {
  try {
    if (auto devices = Get(socket, pod, deadline)) return devices;
  } catch (const CallError& e) {
    if (!IsRefusal(e)) throw;
  }
  try {
    return List({.socket = socket, .method = kListPodResources}, pod, deadline);
  } catch (const CallError& e) {
    if (e.status().code != StatusCode::kUnimplemented) throw;
  }
  return List({.socket = socket, .method = kListPodResourcesAlpha}, pod, deadline);
}

}  // namespace

std::optional<DevicesByResource> PodResources::DevicesOf(const PodName& pod,
                                                         const Deadline& deadline) const {
  const std::string what = "ask the kubelet for the devices of pod " + pod.ToString();
  try {
    return AskEach(socket_, pod, deadline);
  } catch (const CallError& e) {
    throw KubeletError(what + " at " + socket_ + ": " + e.what());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    throw KubeletError(what + ": " + e.what() +
                       "; [devices] kubelet_dir has to be the kubelet's --root-dir, and where the "
                       "agent is a pod, a folder that it mounts");
  }
}

}  // namespace kuryr::kubelet
