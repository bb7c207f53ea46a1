#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/kinds/key.h"
#include "controller/plan/kept_plan.h"
#include "vif/pod_vifs.h"
#include "watcher/watch_event.h"

namespace kuryr::controller {

/// The finalizer of kuryr-kubernetes on KuryrPorts: a deleted one stays until its pod's VIFs are
/// released. Before Kubernetes 1.33, the end of a namespace deletes KuryrPorts before pods that
/// still end.
inline constexpr const char* kPortFinalizer = "kuryr.openstack.org/kuryrport-finalizer";
using vif::kPlanner;
using vif::kPlannerAnnotation;
using vif::kPodFinalizer;
/// The wishes of a pod's user for its default interface: addresses, separated by commas, and a MAC.
inline constexpr const char* kAddressesAnnotation = "kuryr.openstack.org/ip-addresses";
inline constexpr const char* kMacAnnotation = "kuryr.openstack.org/mac-address";
/// The IPAMClaim of the pod's default interface, as OVN-Kubernetes and KubeVirt name it.
inline constexpr const char* kClaimAnnotation = "k8s.ovn.org/primary-udn-ipamclaim";
/// The addresses of the pod's earlier plans, separated by commas, beside a later plan of this
/// controller. The node may have configured them without telling.
inline constexpr const char* kFormerAnnotation = "kuryr.openstack.org/former-addresses";
/// The most former addresses that are kept.
inline constexpr size_t kMostFormer = 16;

/// The plan that stands on an object.
struct Plan {
  std::vector<vif::PodVif> vifs;
  std::string error;              ///< why they cannot be read
  std::vector<IpAddress> former;  ///< kFormerAnnotation

  [[nodiscard]] bool empty() const noexcept { return vifs.empty() && error.empty(); }
};

/// The state of a plan, as read and judged.
struct PlanState {
  bool present = false;
  bool ours = false;     ///< the backend's own; only a leader knows
  bool active = false;   ///< every VIF is active
  bool ignored = false;  ///< another producer's that does not count; only a leader knows
  std::string problem;   ///< why it cannot be read; for a leader also, which pod has its addresses
  std::string refused;   ///< why the backend would never give it; only a leader knows
  KeptPlan kept;         ///< for the next leader's backend; empty if it cannot be read
  std::vector<IpAddress> former;
};

/// The facts of a pod that its plan depends on. The object itself is not kept: a cluster may have
/// half a million pods.
struct PodFacts {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string version;                        ///< resourceVersion
  std::string node;                           ///< empty: not scheduled yet
  std::vector<std::string> other_finalizers;  ///< without kPodFinalizer
  std::map<std::string, std::string> labels;  ///< the labels by which networks are chosen
  std::string addresses;                      ///< kAddressesAnnotation
  std::string mac;                            ///< kMacAnnotation
  std::string claim;                          ///< kClaimAnnotation
  std::string security_groups;                ///< kSecurityGroupsAnnotation
  std::string networks;                       ///< kNetworksAnnotation; cut just above its limit
  size_t plan_mark = 0;                       ///< MarkOf(vif::kPlannedAnnotation)
  bool has_finalizer = false;                 ///< kPodFinalizer
  bool host_network = false;
  bool is_static = false;  ///< the mirror of a static pod, which the kubelet reads from elsewhere
  bool completed = false;  ///< no container will run again
  bool deleted = false;    ///< has a deletionTimestamp
  bool expired = false;    ///< deleted, and its grace period is over
  bool running = false;    ///< a container is running
  bool started = false;    ///< the node has, or had, a network for it
  std::chrono::sys_seconds created;
  std::vector<IpAddress> addresses_there;      ///< from the pod's status
  PlanState plan;                              ///< the plan in the annotation
  std::chrono::steady_clock::time_point seen;  ///< when it first needed a plan

  [[nodiscard]] Owner owner() const { return {uid, name_space, name, node}; }
};

/// The facts of a KuryrPort that its pod's plan depends on.
struct PortFacts {
  bool ours = false;  ///< a kuryr-controller made it, perhaps without VIFs yet
  std::string uid;
  std::string version;  ///< resourceVersion
  std::string pod_uid;
  std::string node;
  bool changed = false;  ///< its plan has been changed: vif::kPlannedAnnotation
  bool judged = false;   ///< judged with its pod; only a leader knows
  PlanState plan;
};

/// Stands for the value of vif::kPlannedAnnotation; 0 for an empty one.
[[nodiscard]] size_t MarkOf(const std::string& planned);

/// Reads all facts but the plan. `label_keys`: the labels to keep.
[[nodiscard]] PodFacts PodFactsOf(const watcher::WatchEvent& pod,
                                  const std::set<std::string>& label_keys);
[[nodiscard]] PortFacts PortFactsOf(const watcher::WatchEvent& kuryrport);
/// Reads the plan on a Pod or a KuryrPort. Does not throw ParseError: the plan has the error.
[[nodiscard]] Plan PlanOn(const watcher::WatchEvent& object);
/// The former addresses on an object: the first kMostFormer that can be read.
[[nodiscard]] std::vector<IpAddress> FormerOn(const watcher::WatchEvent& object);

/// Whether `pod` keeps the addresses that both plans have. A started pod goes before others, then
/// an older one.
[[nodiscard]] bool GoesBefore(const PodFacts& pod, const PodFacts& other);

/// The event that a pod waits for before its plan may be taken away.
enum class Awaited {
  kNothing,      ///< the node has removed everything of the pod
  kDeletion,     ///< the pod is not deleted yet
  kGracePeriod,  ///< the kubelet deletes the pod once its sandbox is gone
  kContainers,   ///< a container runs after a forced deletion; it ends with its node at the latest
};
[[nodiscard]] Awaited AwaitedBy(const PodFacts& pod);

}  // namespace kuryr::controller
