#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cni/pod/pod_config.h"
#include "vif/pod_vifs.h"
#include "watcher/watch_event.h"

namespace kuryr::cni {

/// Limits of one pod's plan: VIFs, and addresses and routes of each VIF.
inline constexpr size_t kMostVifs = 64;
inline constexpr size_t kMostAddresses = 64;
inline constexpr size_t kMostRoutes = 256;
/// Bytes that the values of a plan may take. A text of vif::kLargestPlan may ask for more, by many
/// empty subnets.
inline constexpr size_t kLargestDecoded = 2 * vif::kLargestPlan;

/// The plan in a Pod or a KuryrPort, decoded when the object's event comes in.
struct PodPlan {
  std::string kind;               ///< of the object
  std::vector<vif::PodVif> read;  ///< slimmed down; empty without VIFs, or with a problem
  std::optional<ParseError> problem;
  size_t bytes = 0;  ///< of the values of `read`

  /// The default VIF first; empty while there are none. Throws `problem` as MalformedVif.
  [[nodiscard]] const std::vector<vif::PodVif>& vifs() const;

  friend bool operator==(const PodPlan& left, const PodPlan& right);
};

/// Decodes the VIFs of the event's object (vif::VifsOf). They must be within these limits, and the
/// layer 3 of each must be plannable. The problem's path begins with the object: "KuryrPort
/// default/nginx: $.status.vifs.eth0.vif", "Pod default/nginx: annotation openstack.org/kuryr-vif,
/// VIF of eth0, $.network".
[[nodiscard]] PodPlan DecodePlan(const watcher::WatchEvent& event);

/// Whether the pod is a mirror, which a kubelet makes at the API server for a static pod. A
/// mirror's owner is a node, and it has the annotation config.mirror. That annotation cannot be
/// added later, and no kubelet runs a pod that has it.
[[nodiscard]] bool IsMirrorPod(const nlohmann::json& pod);
/// The hash of a mirror's manifest: the static pod's UID at the runtime. Empty for every other pod,
/// which could name the UID of an earlier pod there.
[[nodiscard]] std::string ManifestHashOf(const nlohmann::json& pod);

/// A pod as far as an ADD needs it. Copies share the plan, which never changes.
struct PlannedPod {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string manifest_hash;            ///< of a mirror: the static pod's UID at the runtime
  std::shared_ptr<const PodPlan> plan;  ///< null while the pod is not planned
  size_t plan_mark = 0;                 ///< hash of vif::kPlannedAnnotation; 0: there is none

  /// Compares plans by value.
  friend bool operator==(const PlannedPod& left, const PlannedPod& right);
};

/// One pod, from the events of the Pod and the KuryrPort of one name. Its VIFs are those of the
/// Pod's annotation. Without one they are the KuryrPort's, if that is this very pod's and not being
/// deleted. One of kuryr-controller counts from the pod's finalizer on (vif::kPodFinalizer), which
/// is written at the same time: before, the pod may go, and its addresses be given to another one.
/// Each object's VIFs are decoded once, and the rest of the object is not kept. Not thread-safe.
class KnownPod {
 public:
  explicit KnownPod(VifSource source = VifSource::kAny) : source_(source) {}

  /// How an event changed the pod: not at all, to another state, to no pod.
  enum class Change { kNone, kPresent, kGone };
  /// Learns from an event of either object. Returns kGone at a pod's end even if the pod was not
  /// known.
  [[nodiscard]] Change Learn(const watcher::WatchEvent& event);

  /// Forgets the KuryrPort, which is going to be read anew.
  void ForgetPort() { port_.reset(); }

  /// Bytes that the values of both objects' plans take.
  [[nodiscard]] size_t bytes() const;
  /// Drops the plans, for which there is no room: PodPlan::vifs throws `why` from now on. `key` is
  /// NAMESPACE/NAME.
  void RefusePlans(const std::string& key, const std::string& why);

  /// Whether the pod, its mirror or its KuryrPort has this UID.
  [[nodiscard]] bool IsOf(const std::string& uid) const;
  [[nodiscard]] bool empty() const noexcept { return !pod_ && !port_; }
  /// Whether the Pod is annotated with a plan: then no KuryrPort matters.
  [[nodiscard]] bool annotated() const noexcept { return pod_ && pod_->plan; }
  /// nullopt while the Pod itself is not known.
  [[nodiscard]] std::optional<PlannedPod> pod() const;
  /// Whether there is no KuryrPort to wait for: it does not matter, or all its VIFs are active.
  [[nodiscard]] bool complete() const;

 private:
  struct Port {
    std::string pod_uid;
    bool is_planners = false;  ///< kuryr-controller made it
    std::shared_ptr<const PodPlan> plan;
  };
  [[nodiscard]] static Port ReadPort(const watcher::WatchEvent& event);
  void LearnPort(const watcher::WatchEvent& event);
  void LearnPod(const watcher::WatchEvent& event);
  [[nodiscard]] bool HasPort() const;

  VifSource source_;
  std::optional<PlannedPod> pod_;  ///< its plan is the annotation's
  bool held_ = false;              ///< the pod has, or had, vif::kPodFinalizer
  std::optional<Port> port_;
};

}  // namespace kuryr::cni
