#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/plan/kept_plan.h"
#include "vif/pod_vifs.h"
#include "watcher/watch_event.h"

namespace kuryr::controller {

/// The original's: a pod that has it stays until its VIFs are released.
inline constexpr const char* kPodFinalizer = "kuryr.openstack.org/pod-finalizer";
/// The original's: a KuryrPort that has it stays until its pod's VIFs are released, whoever deletes
/// it: a namespace's end deletes KuryrPorts before pods that still end.
inline constexpr const char* kPortFinalizer = "kuryr.openstack.org/kuryrport-finalizer";
using vif::kPlanner;
using vif::kPlannerAnnotation;
/// What a pod's user may wish for its default interface: addresses, separated by commas, and a MAC.
inline constexpr const char* kAddressesAnnotation = "kuryr.openstack.org/ip-addresses";
inline constexpr const char* kMacAnnotation = "kuryr.openstack.org/mac-address";
/// The IPAMClaim of its default interface, as OVN-Kubernetes and KubeVirt name it.
inline constexpr const char* kClaimAnnotation = "k8s.ovn.org/primary-udn-ipamclaim";
/// Beside a plan of ours that is not the first one: the addresses of earlier ones, separated by
/// commas. The node may have made them true unheard.
inline constexpr const char* kFormerAnnotation = "kuryr.openstack.org/former-addresses";
/// As many are kept.
inline constexpr size_t kMostFormer = 16;

/// The VIFs that stand on an object.
struct Plan {
  std::vector<vif::PodVif> vifs;
  std::string error;              ///< why they cannot be read
  std::vector<IpAddress> former;  ///< kFormerAnnotation

  [[nodiscard]] bool empty() const noexcept { return vifs.empty() && error.empty(); }
};

/// What became of a plan once it was heard of.
struct PlanState {
  bool present = false;
  bool ours = false;     ///< the backend's own; known to a leader
  bool active = false;   ///< every VIF
  bool ignored = false;  ///< another producer's, where none is heeded; known to a leader
  std::string problem;   ///< unreadable, or, as a leader knows, somebody else has its addresses
  std::string refused;   ///< why the backend would never give it; known to a leader
  KeptPlan kept;         ///< for the backend of the next leader; empty where it is unreadable
  std::vector<IpAddress> former;
};

/// Of a pod, what its plan depends on. The object itself is not kept: a cluster may have half a
/// million.
struct PodFacts {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string version;                        ///< resourceVersion
  std::string node;                           ///< empty: not scheduled yet
  std::vector<std::string> other_finalizers;  ///< without kPodFinalizer
  std::map<std::string, std::string> labels;  ///< those that networks are chosen by
  std::string addresses;                      ///< kAddressesAnnotation
  std::string mac;                            ///< kMacAnnotation
  std::string claim;                          ///< kClaimAnnotation
  std::string security_groups;                ///< kSecurityGroupsAnnotation
  std::string networks;                       ///< kNetworksAnnotation; too long where it was cut
  bool has_finalizer = false;                 ///< kPodFinalizer
  bool host_network = false;
  bool is_static = false;  ///< a mirror of one that the kubelet has from elsewhere
  bool completed = false;  ///< no container will run again
  bool deleted = false;    ///< has a deletionTimestamp
  bool expired = false;    ///< deleted, and its grace period is over
  bool running = false;    ///< a container is
  bool started = false;    ///< the node has, or had, a network for it
  std::chrono::sys_seconds created;
  std::vector<IpAddress> addresses_there;      ///< that the node tells of
  PlanState plan;                              ///< of the annotation
  std::chrono::steady_clock::time_point seen;  ///< when it was first to have a plan

  [[nodiscard]] Owner owner() const { return {uid, name_space, name, node}; }
};

/// Of a KuryrPort, the same.
struct PortFacts {
  bool ours = false;  ///< made by a kuryr-controller, whether or not its VIFs are there yet
  std::string uid;
  std::string version;  ///< resourceVersion
  std::string pod_uid;
  std::string node;
  bool judged = false;  ///< with the pod that it is for; known to a leader
  PlanState plan;
};

/// The plan is read apart. `label_keys`: which labels are kept.
[[nodiscard]] PodFacts PodFactsOf(const watcher::WatchEvent& pod,
                                  const std::set<std::string>& label_keys);
[[nodiscard]] PortFacts PortFactsOf(const watcher::WatchEvent& kuryrport);
/// The VIFs on a Pod or a KuryrPort. Never throws ParseError: that is in the plan.
[[nodiscard]] Plan PlanOn(const watcher::WatchEvent& object);
/// The first kMostFormer that can be read.
[[nodiscard]] std::vector<IpAddress> FormerOn(const watcher::WatchEvent& object);

/// Whether `pod` keeps what both plans have: the one that is plugged does, else the older one.
[[nodiscard]] bool GoesBefore(const PodFacts& pod, const PodFacts& other);

/// What a pod that had a plan waits for before its plan may be taken away.
enum class Awaited {
  kNothing,      ///< the node has nothing of it any more
  kDeletion,     ///< it lives
  kGracePeriod,  ///< the kubelet deletes it for good when its sandbox is away
  kContainers,   ///< one runs: somebody was in a hurry; the end of the node is awaited, too
};
[[nodiscard]] Awaited AwaitedBy(const PodFacts& pod);

/// "NAMESPACE/NAME"
[[nodiscard]] inline std::string KeyOf(const std::string& name_space, const std::string& name) {
  return name_space + "/" + name;
}

}  // namespace kuryr::controller
