#include "controller/pod_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "controller/network_selection.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

/// Longer than any wish that can be met: what is cut is refused, and not kept.
constexpr size_t kMostWish = 1024;

/// An empty object where there is none.
const json& Part(const json& object, const char* key) {
  static const json kNone = json::object();
  if (!object.is_object()) return kNone;
  const auto part = object.find(key);
  return part != object.end() && part->is_object() ? *part : kNone;
}

bool IsTrue(const json& object, const char* key) {
  const auto flag = object.find(key);
  return flag != object.end() && flag->is_boolean() && flag->get<bool>();
}

bool HasRunning(const json& status, const char* key) {
  const auto containers = status.find(key);
  if (containers == status.end() || !containers->is_array()) return false;
  return std::any_of(containers->begin(), containers->end(), [](const json& container) {
    return Part(container, "state").contains("running");
  });
}

void ReadFinalizers(const json& metadata, PodFacts& facts) {
  const auto all = metadata.find("finalizers");
  if (all == metadata.end() || !all->is_array()) return;
  for (const json& finalizer : *all) {
    if (finalizer == kPodFinalizer) {
      facts.has_finalizer = true;
    } else if (finalizer.is_string()) {
      facts.other_finalizers.push_back(finalizer.get<std::string>());
    }
  }
}

bool IsZero(const json& metadata, const char* key) {
  const auto number = metadata.find(key);
  return number != metadata.end() && number->is_number_integer() && number->get<int64_t>() == 0;
}

void ReadMetadata(const json& metadata, const std::set<std::string>& label_keys, PodFacts& facts) {
  ReadFinalizers(metadata, facts);
  facts.deleted = metadata.contains("deletionTimestamp");
  facts.expired = facts.deleted && IsZero(metadata, "deletionGracePeriodSeconds");
  const json& annotations = Part(metadata, "annotations");
  facts.addresses = StringAt(annotations, kAddressesAnnotation).substr(0, kMostWish);
  facts.mac = StringAt(annotations, kMacAnnotation).substr(0, kMostWish);
  facts.claim = StringAt(annotations, kClaimAnnotation).substr(0, kMostWish);
  facts.networks = StringAt(annotations, kNetworksAnnotation).substr(0, kMostNetworksText + 1);
  facts.is_static = annotations.contains("kubernetes.io/config.mirror");
  const json& labels = Part(metadata, "labels");
  for (const std::string& key : label_keys) {
    if (labels.contains(key)) facts.labels.emplace(key, StringAt(labels, key.c_str()));
  }
}

}  // namespace

/// Who never had a node had nothing there.
Awaited AwaitedBy(const PodFacts& pod) {
  if (pod.completed) return Awaited::kNothing;
  if (!pod.deleted) return Awaited::kDeletion;
  if (pod.node.empty()) return Awaited::kNothing;
  if (!pod.expired) return Awaited::kGracePeriod;
  return pod.running ? Awaited::kContainers : Awaited::kNothing;
}

PodFacts PodFactsOf(const watcher::WatchEvent& pod, const std::set<std::string>& label_keys) {
  PodFacts facts{.name_space = pod.name_space,
                 .name = pod.name,
                 .uid = pod.uid,
                 .version = pod.resource_version};
  ReadMetadata(Part(*pod.object, "metadata"), label_keys, facts);
  const json& spec = Part(*pod.object, "spec");
  facts.node = StringAt(spec, "nodeName");
  facts.host_network = IsTrue(spec, "hostNetwork");
  const json& status = Part(*pod.object, "status");
  const std::string phase = StringAt(status, "phase");
  facts.completed = phase == "Succeeded" || phase == "Failed";
  for (const char* kind :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"})
    facts.running = facts.running || HasRunning(status, kind);
  return facts;
}

PortFacts PortFactsOf(const watcher::WatchEvent& kuryrport) {
  const json& spec = Part(*kuryrport.object, "spec");
  const json& annotations = Part(Part(*kuryrport.object, "metadata"), "annotations");
  return {.ours = StringAt(annotations, kPlannerAnnotation) == kPlanner,
          .uid = kuryrport.uid,
          .pod_uid = StringAt(spec, "podUid"),
          .node = StringAt(spec, "podNodeName")};
}

Plan PlanOn(const watcher::WatchEvent& object) {
  try {
    auto vifs = vif::VifsOf(*object.object);
    return {.vifs = vifs ? std::move(*vifs) : std::vector<vif::PodVif>()};
  } catch (const ParseError& e) {
    return {.error = object.kind + " " + object.name_space + "/" + object.name + ": " + e.what()};
  }
}

}  // namespace kuryr::controller
