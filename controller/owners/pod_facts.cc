#include "controller/owners/pod_facts.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/annotation_text.h"
#include "base/error.h"
#include "base/json.h"
#include "controller/election/api_time.h"
#include "controller/plan/network_selection.h"
#include "controller/plan/security_groups.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

/// Longer than any valid wish. A longer text is cut, and then refused.
constexpr size_t kMostWish = 1024;

/// The object under `key`; an empty one if there is none.
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

bool HasMember(const json& object, const char* key) { return !Part(object, key).empty(); }

/// Whether a container was ever made. Before, even its pod's sandbox may be missing.
bool HasContainer(const json& status, const char* key) {
  const auto containers = status.find(key);
  if (containers == status.end() || !containers->is_array()) return false;
  return std::any_of(containers->begin(), containers->end(), [](const json& container) {
    const json& state = Part(container, "state");
    return HasMember(state, "running") || HasMember(state, "terminated") ||
           HasMember(container, "lastState") || !StringAt(container, "containerID").empty();
  });
}

bool HasSandbox(const json& status) {
  const auto conditions = status.find("conditions");
  if (conditions == status.end() || !conditions->is_array()) return false;
  return std::any_of(conditions->begin(), conditions->end(), [](const json& condition) {
    const std::string type = StringAt(condition, "type");
    const bool tells = type == "PodReadyToStartContainers" || type == "PodHasNetwork";
    return tells && StringAt(condition, "status") == "True";
  });
}

void ReadAddresses(const json& status, PodFacts& facts) {
  const auto add = [&](const std::string& text) {
    const auto address = IpAddress::Parse(text);
    auto& known = facts.addresses_there;
    if (address && known.size() < kMostFormer &&
        std::find(known.begin(), known.end(), *address) == known.end())
      known.push_back(*address);
  };
  add(StringAt(status, "podIP"));
  const auto all = status.find("podIPs");
  if (all == status.end() || !all->is_array()) return;
  for (const json& one : *all) add(StringAt(one, "ip"));
}

void ReadStatus(const json& status, PodFacts& facts) {
  const std::string phase = StringAt(status, "phase");
  facts.completed = phase == "Succeeded" || phase == "Failed";
  ReadAddresses(status, facts);
  facts.started =
      phase == "Running" || facts.completed || !facts.addresses_there.empty() || HasSandbox(status);
  for (const char* kind :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    facts.running = facts.running || HasRunning(status, kind);
    facts.started = facts.started || HasContainer(status, kind);
  }
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
  facts.created = ParseTime(StringAt(metadata, "creationTimestamp")).value_or(facts.created);
  facts.deleted = metadata.contains("deletionTimestamp");
  facts.expired = facts.deleted && IsZero(metadata, "deletionGracePeriodSeconds");
  const json& annotations = Part(metadata, "annotations");
  facts.addresses = StringAt(annotations, kAddressesAnnotation).substr(0, kMostWish);
  facts.mac = StringAt(annotations, kMacAnnotation).substr(0, kMostWish);
  facts.claim = StringAt(annotations, kClaimAnnotation).substr(0, kMostWish);
  facts.security_groups = StringAt(annotations, kSecurityGroupsAnnotation).substr(0, kMostWish);
  facts.networks = StringAt(annotations, kNetworksAnnotation).substr(0, kMostNetworksText + 1);
  facts.plan_mark = MarkOf(StringAt(annotations, vif::kPlannedAnnotation));
  facts.is_static = annotations.contains("kubernetes.io/config.mirror");
  const json& labels = Part(metadata, "labels");
  for (const std::string& key : label_keys) {
    if (labels.contains(key)) facts.labels.emplace(key, StringAt(labels, key.c_str()));
  }
}

}  // namespace

size_t MarkOf(const std::string& planned) {
  return planned.empty() ? 0 : std::hash<std::string>()(planned);
}

/// A pod that was never scheduled left nothing on any node.
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
  ReadStatus(Part(*pod.object, "status"), facts);
  return facts;
}

PortFacts PortFactsOf(const watcher::WatchEvent& kuryrport) {
  const json& spec = Part(*kuryrport.object, "spec");
  const json& annotations = Part(Part(*kuryrport.object, "metadata"), "annotations");
  return {.ours = StringAt(annotations, kPlannerAnnotation) == kPlanner,
          .uid = kuryrport.uid,
          .version = kuryrport.resource_version,
          .pod_uid = StringAt(spec, "podUid"),
          .node = StringAt(spec, "podNodeName"),
          .changed = annotations.contains(vif::kPlannedAnnotation)};
}

std::vector<IpAddress> FormerOn(const watcher::WatchEvent& object) {
  const json& annotations = Part(Part(*object.object, "metadata"), "annotations");
  std::vector<IpAddress> former;
  for (const std::string& item : ListItems(StringAt(annotations, kFormerAnnotation))) {
    const auto address = IpAddress::Parse(item);
    if (address && former.size() < kMostFormer) former.push_back(*address);
  }
  return former;
}

bool GoesBefore(const PodFacts& pod, const PodFacts& other) {
  return std::tuple(!pod.started, pod.created, pod.uid) <
         std::tuple(!other.started, other.created, other.uid);
}

Plan PlanOn(const watcher::WatchEvent& object) {
  try {
    auto vifs = vif::VifsOf(*object.object);
    return {.vifs = vifs ? std::move(*vifs) : std::vector<vif::PodVif>(),
            .former = FormerOn(object)};
  } catch (const ParseError& e) {
    return {.error = object.kind + " " + object.name_space + "/" + object.name + ": " + e.what()};
  }
}

}  // namespace kuryr::controller
