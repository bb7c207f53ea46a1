#include "cni/pod/known_pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr std::string_view kKuryrPort = "KuryrPort";
constexpr std::string_view kConfigHash = "kubernetes.io/config.hash";

/// Null where `object` is no object, or has no such member.
const json& Member(const json& object, std::string_view key) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNull : *found;
}

const json& Annotation(const json& pod, std::string_view key) {
  return Member(Member(Member(pod, "metadata"), "annotations"), key);
}

/// Without what no ADD asks for: a node's pods are to fit into a few MiB. The hash of a manifest
/// counts for mirrors alone, or a pod could name the UID of an earlier one.
watcher::WatchEvent SlimPod(const watcher::WatchEvent& event, VifSource source) {
  json annotations = json::object();
  for (const std::string_view key : {vif::kVifAnnotation, kConfigHash}) {
    const json& annotation = Annotation(*event.object, key);
    const bool passed_over =
        key == kConfigHash ? !IsMirrorPod(*event.object) : source == VifSource::kKuryrPort;
    if (!annotation.is_null() && !passed_over) annotations[std::string(key)] = annotation;
  }
  watcher::WatchEvent slim = event;
  slim.object = std::make_shared<const json>(json{{"kind", "Pod"},
                                                  {"metadata",
                                                   {{"namespace", event.name_space},
                                                    {"name", event.name},
                                                    {"uid", event.uid},
                                                    {"annotations", std::move(annotations)}}}});
  return slim;
}

}  // namespace

bool IsMirrorPod(const json& pod) {
  const json& owners = Member(Member(pod, "metadata"), "ownerReferences");
  return !Annotation(pod, "kubernetes.io/config.mirror").is_null() &&
         std::any_of(owners.begin(), owners.end(),
                     [](const json& owner) { return StringAt(owner, "kind") == "Node"; });
}

/// One that is being deleted has no VIFs for anybody any more.
KnownPod::Port KnownPod::SlimPort(const watcher::WatchEvent& event) {
  json plan = {{"kind", kKuryrPort}};
  if (Member(Member(*event.object, "metadata"), "deletionTimestamp").is_null()) {
    for (const char* part : {"status", "spec"}) {
      const json& vifs = Member(Member(*event.object, part), "vifs");
      if (!vifs.is_null()) plan[part]["vifs"] = vifs;
    }
  }
  std::string text = plan.dump();
  if (text.size() > vif::kLargestPlan) {
    // No VIFs, as whoever decodes it will say.
    plan = {{"kind", kKuryrPort},
            {"status", {{"vifs", "too large: " + std::to_string(text.size()) + " bytes"}}}};
    text = plan.dump();
  }
  return {.pod_uid = StringAt(Member(*event.object, "spec"), "podUid"), .plan = std::move(text)};
}

std::optional<watcher::WatchEvent> KnownPod::Take(const watcher::WatchEvent& event) {
  using watcher::EventType;
  const bool gone = event.type == EventType::kDeleted;
  if (!gone && event.type != EventType::kAdded && event.type != EventType::kModified)
    return std::nullopt;
  if (event.kind == kKuryrPort) {
    if (source_ == VifSource::kAnnotation) return std::nullopt;
    auto port = gone ? std::nullopt : std::optional(SlimPort(event));
    if (port_ == port) return std::nullopt;
    port_ = std::move(port);
    return this->event();
  }
  if (gone) {
    pod_.reset();
    return event;
  }
  watcher::WatchEvent pod = SlimPod(event, source_);
  if (pod_ && *pod_->object == *pod.object) return std::nullopt;
  pod_ = std::move(pod);
  return this->event();
}

/// A KuryrPort may outlive its pod, and another pod may have its name by then. Of a static pod the
/// runtime knows one UID, the hash of its manifest, and the API server another.
bool KnownPod::HasPort() const {
  if (!port_ || port_->pod_uid.empty()) return false;
  return port_->pod_uid == pod_->uid || Annotation(*pod_->object, kConfigHash) == port_->pod_uid;
}

bool KnownPod::IsOf(const std::string& uid) const {
  if (port_ && port_->pod_uid == uid) return true;
  return pod_ && (pod_->uid == uid || Annotation(*pod_->object, kConfigHash) == uid);
}

bool KnownPod::annotated() const {
  return pod_ && !Annotation(*pod_->object, vif::kVifAnnotation).is_null();
}

std::optional<watcher::WatchEvent> KnownPod::event() const {
  if (!pod_ || annotated() || !HasPort()) return pod_;
  json plan = ParseJson(port_->plan);
  plan["metadata"] = pod_->object->at("metadata");
  watcher::WatchEvent event = *pod_;
  event.object = std::make_shared<const json>(std::move(plan));
  return event;
}

}  // namespace kuryr::cni
