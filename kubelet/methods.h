#pragma once

namespace kuryr::kubelet {

// The paths of the kubelet's gRPC methods (kubernetes/kubelet, pkg/apis).

inline constexpr const char* kRegister = "/v1beta1.Registration/Register";
inline constexpr const char* kGetDevicePluginOptions =
    "/v1beta1.DevicePlugin/GetDevicePluginOptions";
inline constexpr const char* kListAndWatch = "/v1beta1.DevicePlugin/ListAndWatch";
inline constexpr const char* kGetPreferredAllocation =
    "/v1beta1.DevicePlugin/GetPreferredAllocation";
inline constexpr const char* kAllocate = "/v1beta1.DevicePlugin/Allocate";
inline constexpr const char* kPreStartContainer = "/v1beta1.DevicePlugin/PreStartContainer";

inline constexpr const char* kGetPodResources = "/v1.PodResourcesLister/Get";
inline constexpr const char* kListPodResources = "/v1.PodResourcesLister/List";
inline constexpr const char* kListPodResourcesAlpha = "/v1alpha1.PodResourcesLister/List";

}  // namespace kuryr::kubelet
