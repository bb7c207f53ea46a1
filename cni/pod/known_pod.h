#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cni/pod/pod_config.h"
#include "cni/pod/pod_plan.h"
#include "watcher/watch_event.h"

namespace kuryr::cni {

/// Whether a kubelet has put it at the API server to stand for a static pod. Then a node is its
/// owner, and it has the annotation config.mirror: nobody can add that later, and no kubelet runs a
/// pod that has it.
[[nodiscard]] bool IsMirrorPod(const nlohmann::json& pod);

/// A pod as far as an ADD needs it. Copies share the plan, which never changes.
struct PlannedPod {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string manifest_hash;  ///< of a static pod's mirror: the UID that the runtime knows
  std::shared_ptr<const PodPlan> plan;  ///< null while nobody has planned anything

  /// The same plan, whoever decoded it.
  friend bool operator==(const PlannedPod& left, const PlannedPod& right);
};

/// What was heard of the Pod and the KuryrPort of one name, as one. A pod's VIFs are those of its
/// annotation, or without one those of the KuryrPort, if that is this very pod's and not being
/// deleted. Each object's VIFs are decoded once, and nothing else of it is kept. Not thread-safe.
class KnownPod {
 public:
  explicit KnownPod(VifSource source = VifSource::kAny) : source_(source) {}

  /// What an event made of the pod: nothing that matters, another state, no pod at all.
  enum class Change { kNone, kPresent, kGone };
  /// An event of either object. The end of a pod is told even if it was not known.
  [[nodiscard]] Change Take(const watcher::WatchEvent& event);

  /// The KuryrPort is to be asked for anew: nothing is known of it any more.
  void ForgetPort() { port_.reset(); }

  /// Of the values of both objects' plans.
  [[nodiscard]] size_t bytes() const;
  /// Its plans go, and who asks for one is told why there is no room for it. `key` is
  /// NAMESPACE/NAME.
  void RefusePlans(const std::string& key, const std::string& why);

  /// Whether the pod, its mirror or its KuryrPort has this UID.
  [[nodiscard]] bool IsOf(const std::string& uid) const;
  [[nodiscard]] bool empty() const noexcept { return !pod_ && !port_; }
  /// True when no KuryrPort matters.
  [[nodiscard]] bool annotated() const noexcept { return pod_ && pod_->plan; }
  /// Nothing while the pod itself is not known.
  [[nodiscard]] std::optional<PlannedPod> pod() const;
  /// Whether no KuryrPort is waited for: it does not matter, or all its VIFs are active.
  [[nodiscard]] bool complete() const;

 private:
  struct Port {
    std::string pod_uid;
    std::shared_ptr<const PodPlan> plan;
  };
  [[nodiscard]] static Port ReadPort(const watcher::WatchEvent& event);
  void TakePort(const watcher::WatchEvent& event);
  [[nodiscard]] bool HasPort() const;

  VifSource source_;
  std::optional<PlannedPod> pod_;  ///< its plan is the annotation's
  std::optional<Port> port_;
};

}  // namespace kuryr::cni
