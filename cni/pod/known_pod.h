#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "watcher/watch_event.h"

namespace kuryr::cni {

/// [kubernetes] vif_source: which objects may have a pod's VIFs.
enum class VifSource { kAny, kAnnotation, kKuryrPort };

/// Whether a kubelet has put it at the API server to stand for a static pod: a node is its owner,
/// and it has the annotation that nobody can add later and with which no kubelet runs a pod.
[[nodiscard]] bool IsMirrorPod(const nlohmann::json& pod);

/// What was heard of the Pod and the KuryrPort of one name, as far as an ADD needs it, as one: the
/// pod's event. Its VIFs are those of the pod's annotation, or without one those of the KuryrPort,
/// if that is this very pod's and not being deleted. Not thread-safe.
class KnownPod {
 public:
  explicit KnownPod(VifSource source = VifSource::kAny) : source_(source) {}

  /// An event of either. What it makes of the pod's; nothing when that is what it was.
  [[nodiscard]] std::optional<watcher::WatchEvent> Take(const watcher::WatchEvent& event);

  /// Whether the pod, its mirror or its KuryrPort has this UID.
  [[nodiscard]] bool IsOf(const std::string& uid) const;
  [[nodiscard]] bool empty() const noexcept { return !pod_ && !port_; }
  /// True when no KuryrPort matters.
  [[nodiscard]] bool annotated() const;
  /// Nothing while the pod itself is not known. The object is what has the VIFs, a Pod or a
  /// KuryrPort, with the pod's metadata.
  [[nodiscard]] std::optional<watcher::WatchEvent> event() const;

 private:
  struct Port {
    std::string pod_uid;
    std::string plan;  ///< a KuryrPort with VIFs alone; as text, a sixth of its size as values

    bool operator==(const Port&) const = default;
  };
  [[nodiscard]] static Port SlimPort(const watcher::WatchEvent& event);
  [[nodiscard]] bool HasPort() const;

  VifSource source_;
  std::optional<watcher::WatchEvent> pod_;
  std::optional<Port> port_;
};

}  // namespace kuryr::cni
