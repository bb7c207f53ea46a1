#include "kubelet/pod_resources.h"

#include <poll.h>

#include <cerrno>
#include <system_error>

#include "base/backoff.h"
#include "base/error.h"
#include "kubelet/message.h"
#include "kubelet/methods.h"
#include "kubelet/podresources.pb.h"

namespace kuryr::kubelet {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRest{20};
constexpr milliseconds kLongestRest{200};

/// Newer kubelets answer ten questions at once, and then a hundred a second
/// (kubernetes/kubernetes, pkg/kubelet/apis/grpc/ratelimit.go).
bool IsTooOften(const CallError& error) {
  return error.status().code == StatusCode::kResourceExhausted &&
         error.status().message.find("rate limit") != std::string::npos;
}

void Rest(milliseconds time, const Deadline& deadline) {
  pollfd cancelled{.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0};
  if (::poll(&cancelled, 1, static_cast<int>(time.count())) > 0)
    ThrowErrno(ECANCELED, "ask the kubelet");
}

/// Repeats the call if the kubelet refused it for its rate.
template <typename Response, typename Request>
Response AskPatiently(const CallRequest& call, const Request& request, const Deadline& deadline) {
  Backoff backoff(kRest, kLongestRest);
  while (true) {
    try {
      return Ask<Response>(call, request, deadline);
    } catch (const CallError& e) {
      const milliseconds rest = backoff.Next();
      if (!IsTooOften(e) || rest >= deadline.Remaining()) throw;
      Rest(rest, deadline);
    }
  }
}

void Add(const v1::PodResources& pod, DevicesByResource& devices) {
  for (const v1::ContainerResources& container : pod.containers()) {
    for (const v1::ContainerDevices& some : container.devices()) {
      auto& ids = devices[some.resource_name()];
      ids.insert(some.device_ids().begin(), some.device_ids().end());
    }
  }
}

DevicesByResource DevicesIn(const v1::PodResources& pod) {
  DevicesByResource devices;
  Add(pod, devices);
  return devices;
}

/// Whether the answer is about this pod; a kubelet that knows only names may mean another pod of
/// this name.
bool IsOf(const v1::PodResources& resources, const PodName& pod) {
  return resources.name() == pod.name && resources.namespace_() == pod.name_space;
}

std::optional<DevicesByResource> Get(const std::string& socket, const PodName& pod,
                                     const Deadline& deadline) {
  v1::GetPodResourcesRequest request;
  request.set_pod_name(pod.name);
  request.set_pod_namespace(pod.name_space);
  const auto answer = AskPatiently<v1::GetPodResourcesResponse>(
      {.socket = socket, .method = kGetPodResources}, request, deadline);
  if (!IsOf(answer.pod_resources(), pod)) return std::nullopt;
  return DevicesIn(answer.pod_resources());
}

v1::ListPodResourcesResponse ListBy(const std::string& socket, const char* method,
                                    const Deadline& deadline) {
  return AskPatiently<v1::ListPodResourcesResponse>({.socket = socket, .method = method},
                                                    v1::ListPodResourcesRequest(), deadline);
}

v1::ListPodResourcesResponse ListAll(const std::string& socket, const Deadline& deadline) {
  try {
    return ListBy(socket, kListPodResources, deadline);
  } catch (const CallError& e) {
    if (e.status().code != StatusCode::kUnimplemented) throw;
  }
  return ListBy(socket, kListPodResourcesAlpha, deadline);
}

/// Whether to try the next method: after any error of the kubelet itself. The kubelet answers
/// UNKNOWN for a disabled method, and also for a pod that Get does not find.
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
  const auto answer = ListAll(socket, deadline);
  std::optional<DevicesByResource> devices;
  for (const v1::PodResources& resources : answer.pod_resources()) {
    if (!IsOf(resources, pod)) continue;
    if (!devices) devices.emplace();
    Add(resources, *devices);
  }
  return devices;
}

/// Calls `ask`, and adds the question and the socket to its errors.
template <typename Asking>
auto Say(const std::string& what, const std::string& socket, const Asking& ask) {
  try {
    return ask();
  } catch (const CallError& e) {
    throw KubeletError(what + " at " + socket + ": " + e.what());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    throw KubeletError(what + ": " + e.what() +
                       "; [devices] kubelet_dir has to be the kubelet's --root-dir, and where the "
                       "agent is a pod, a folder that it mounts");
  }
}

}  // namespace

std::optional<DevicesByResource> PodResources::DevicesOf(const PodName& pod,
                                                         const Deadline& deadline) const {
  return Say("ask the kubelet for the devices of pod " + pod.ToString(), socket_,
             [&] { return AskEach(socket_, pod, deadline); });
}

std::vector<ListedPod> PodResources::List(const Deadline& deadline) const {
  const auto answer = Say("ask the kubelet for the devices of all pods", socket_,
                          [&] { return ListAll(socket_, deadline); });
  std::vector<ListedPod> pods;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    pods.push_back(
        {.name = {.name_space = pod.namespace_(), .name = pod.name()}, .devices = DevicesIn(pod)});
  }
  return pods;
}

}  // namespace kuryr::kubelet
