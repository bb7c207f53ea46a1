#include "tests/controller/cluster.h"

#include <algorithm>
#include <chrono>

#include "controller/owners/pod_facts.h"
#include "vif/pod_vifs.h"

namespace kuryr::test {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPatience{30};

bool HasPlan(const json& pod) {
  return pod.contains(json::json_pointer("/metadata/annotations/openstack.org~1kuryr-vif"));
}

}  // namespace

void Cluster::Recorder::Handle(const watcher::WatchEvent& event) {
  {
    const MutexLock lock(cluster_.mutex_);
    cluster_.objects_[event.kind + "/" + event.name] =
        event.type == watcher::EventType::kDeleted ? json() : *event.object;
  }
  cluster_.changed_.notify_all();
}

Cluster::Cluster(const fake::Options& options) : api_(options), watcher_(ApiConfig(), recorder_) {
  for (const char* path :
       {"/api/v1/pods", "/apis/openstack.org/v1/kuryrports", "/api/v1/nodes", "/api/v1/events"})
    watcher_.Add(path, watcher::WatchMode::kSet);
  watcher_.Start();
}

json Cluster::CreatePod(const std::string& name, const json& spec, const json& metadata) {
  json pod = {{"kind", "Pod"},
              {"apiVersion", "v1"},
              {"metadata", {{"name", name}}},
              {"spec", {{"nodeName", "node1"}}}};
  if (!spec.is_null()) pod["spec"].merge_patch(spec);
  if (!metadata.is_null()) pod["metadata"].merge_patch(metadata);
  return api_.Create(pod);
}

json Cluster::WaitFor(const std::string& kind, const std::string& name,
                      const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const MutexLock lock(mutex_);
  while (true) {
    const auto object = objects_.find(kind + "/" + name);
    if (object != objects_.end() && condition(object->second)) return object->second;
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) return json::object();
  }
}

json Cluster::WaitForPlan(const std::string& name) {
  return WaitFor("Pod", name, [](const json& pod) { return HasPlan(pod) && HasFinalizer(pod); });
}

json Cluster::WaitForRelease(const std::string& name) {
  return WaitFor("Pod", name, [](const json& pod) {
    return pod.is_object() && !HasPlan(pod) && !HasFinalizer(pod);
  });
}

bool Cluster::WaitUntilGone(const std::string& kind, const std::string& name) {
  return WaitFor(kind, name, [](const json& object) { return object.is_null(); }).is_null();
}

std::vector<std::string> Cluster::EventsOf(const std::string& pod) const {
  const MutexLock lock(mutex_);
  return EventsSeen(pod);
}

std::vector<std::string> Cluster::EventsSeen(const std::string& pod) const {
  std::vector<std::string> events;
  for (const auto& [name, event] : objects_) {
    if (!name.starts_with("Event/") || event.is_null()) continue;
    if (event.at("involvedObject").at("name") == pod)
      events.push_back(event.at("reason").get<std::string>() + ": " +
                       event.at("message").get<std::string>());
  }
  return events;
}

std::string Cluster::WaitForEvent(const std::string& pod, const std::string& reason) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const MutexLock lock(mutex_);
  while (true) {
    const std::vector<std::string> events = EventsSeen(pod);
    const auto found = std::find_if(events.begin(), events.end(), [&](const std::string& event) {
      return event.starts_with(reason + ": ");
    });
    if (found != events.end()) return *found;
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) return "";
  }
}

std::vector<vif::PodVif> VifsOn(const json& pod) {
  const auto vifs = vif::VifsOf(pod);
  return vifs ? *vifs : std::vector<vif::PodVif>();
}

std::string AddressOn(const json& pod) {
  const std::vector<vif::PodVif> vifs = VifsOn(pod);
  if (vifs.empty()) return "";
  const vif::VifBase& vif = vif::Common(vifs.front().vif);
  return vif::FixedIpsOf(vif, vif.network->subnets.value()[0]).at(0).address.ToString();
}

bool HasFinalizer(const json& pod) {
  const json& metadata =
      pod.is_object() && pod.contains("metadata") ? pod["metadata"] : json::object();
  const json finalizers = metadata.value("finalizers", json::array());
  return std::find(finalizers.begin(), finalizers.end(), controller::kPodFinalizer) !=
         finalizers.end();
}

}  // namespace kuryr::test
