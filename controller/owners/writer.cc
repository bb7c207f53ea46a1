#include "controller/owners/writer.h"

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "watcher/api_error.h"

namespace kuryr::controller {

using nlohmann::json;

namespace {

json AnnotationOf(const json& pod) {
  static const json::json_pointer kPlace =
      json::json_pointer("/metadata/annotations") / std::string(vif::kVifAnnotation);
  return pod.contains(kPlace) ? pod.at(kPlace) : json();
}

Writer::PortVersion VersionOf(const json& kuryrport) {
  const json& metadata = kuryrport.at("metadata");
  return {.uid = StringAt(metadata, "uid"), .version = StringAt(metadata, "resourceVersion")};
}

/// A definition that is gone may come back, and no watch tells of it.
json PostPort(watcher::ApiClient& client, const std::string& path, const json& port) {
  try {
    return client.Post(path, port);
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    throw PlanError(PlanError::Kind::kRetry, std::string("no KuryrPort can be made: ") + e.what() +
                                                 "; if their definition is gone, apply "
                                                 "etc/kubernetes/base/kuryrport/kuryrport.yaml");
  }
}

/// One member behind "/", with its slashes.
std::string Pointer(const char* parent, const char* member) {
  return (json::json_pointer(parent) / std::string(member)).to_string();
}

bool HasStatus(const json& object, const json& status) {
  const auto has = object.find("status");
  return has != object.end() && *has == status;
}

}  // namespace

std::string PodPath(const std::string& name_space, const std::string& name) {
  return "/api/v1/namespaces/" + name_space + "/pods/" + name;
}

std::string PortsPath(const std::string& name_space) {
  return "/apis/openstack.org/v1/namespaces/" + name_space + "/kuryrports";
}

void Writer::RequireLeading() const {
  if (!may_write_()) throw NotLeading();
}

void Writer::CreateEvent(const std::string& name_space, const json& event) {
  RequireLeading();
  client_.Post("/api/v1/namespaces/" + name_space + "/events", event);
}

void Writer::CreatePort(const PodFacts& pod, const json& port) {
  RequireLeading();
  json created;
  try {
    created = PostPort(client_, PortsPath(pod.name_space), port);
  } catch (const watcher::ApiError& e) {
    if (e.code() == watcher::ApiError::kConflict) LearnPortOf(pod);
    throw;
  }
  const PortVersion made = VersionOf(created);
  const bool whole = HasStatus(created, port.at("status"));
  store_.LearnPort(std::move(created));
  if (!whole) PatchPortStatus(pod, made, port.at("status"));
}

/// The end of `held` waits for its request.
void Writer::HoldAndCreatePort(const PodFacts& pod, json metadata, const json& port) {
  if (beside_ == nullptr) {
    PatchPod(pod, std::move(metadata));
    return CreatePort(pod, port);
  }
  std::future<void> held =
      std::async(std::launch::async, [&] { PatchPod(*beside_, pod, std::move(metadata), {}); });
  CreatePort(pod, port);
  held.get();
}

/// Asks for a list of one, to which the controller has the right.
void Writer::LearnPortOf(const PodFacts& pod) {
  json found =
      client_.Get(PortsPath(pod.name_space) + "?fieldSelector=metadata.name%3D" + pod.name);
  for (json& port : found.at("items")) store_.LearnPort(std::move(port));
}

void Writer::PatchPod(const PodFacts& pod, json metadata, const std::vector<vif::PodVif>& vifs) {
  PatchPod(client_, pod, std::move(metadata), vifs);
}

void Writer::PatchPod(watcher::ApiClient& client, const PodFacts& pod, json metadata,
                      const std::vector<vif::PodVif>& vifs) {
  metadata["uid"] = pod.uid;
  metadata["resourceVersion"] = pod.version;
  const json patch = {{"metadata", std::move(metadata)}};
  RequireLeading();
  const std::string answer =
      client.PatchText(PodPath(pod.name_space, pod.name) + "?fieldManager=" + kPlanner,
                       watcher::PatchType::kMerge, patch);
  const auto written = parser_.ParseItem(answer, {.kind = "Pod", .api_version = "v1"});
  // An admission webhook may have changed the plan: then it is read.
  const bool as_asked = !vifs.empty() && AnnotationOf(*written.object) == AnnotationOf(patch);
  store_.LearnPod(written, pod.version,
                  as_asked ? Plan{.vifs = vifs, .former = FormerOn(written)} : PlanOn(written));
}

void Writer::AnnotateNode(const Owner& node, const json& annotations) {
  RequireLeading();
  client_.PatchText("/api/v1/nodes/" + node.name + "?fieldManager=" + kPlanner,
                    watcher::PatchType::kMerge,
                    {{"metadata", {{"uid", node.id}, {"annotations", annotations}}}});
}

void Writer::PatchPortStatus(const PodFacts& pod, const PortVersion& port, const json& status) {
  const std::string path = PortsPath(pod.name_space) + "/" + pod.name;
  json patch = {{"metadata", {{"uid", port.uid}, {"resourceVersion", port.version}}},
                {"status", status}};
  RequireLeading();
  const json answer = client_.Patch(path, watcher::PatchType::kMerge, patch);
  if (HasStatus(answer, status)) return;
  patch["metadata"]["resourceVersion"] = VersionOf(answer).version;
  RequireLeading();
  client_.Patch(path + "/status", watcher::PatchType::kMerge, patch);
}

/// Replaces the status instead of merging, which would keep former VIFs.
void Writer::ReplacePortStatus(const PodFacts& pod, const PortVersion& port, const json& status,
                               const std::map<std::string, std::string>& annotations) {
  const std::string path = PortsPath(pod.name_space) + "/" + pod.name;
  const auto changes = [&](const std::string& version) {
    json all =
        json::array({{{"op", "replace"}, {"path", "/metadata/uid"}, {"value", port.uid}},
                     {{"op", "replace"}, {"path", "/metadata/resourceVersion"}, {"value", version}},
                     {{"op", "add"}, {"path", "/status"}, {"value", status}}});
    for (const auto& [name, value] : annotations) {
      all.push_back({{"op", "add"},
                     {"path", Pointer("/metadata/annotations", name.c_str())},
                     {"value", value}});
    }
    return all;
  };
  RequireLeading();
  const json answer = client_.Patch(path, watcher::PatchType::kJson, changes(port.version));
  if (HasStatus(answer, status)) return;
  RequireLeading();
  client_.Patch(path + "/status", watcher::PatchType::kJson, changes(VersionOf(answer).version));
}

json Writer::Merge(const std::string& path, const json& patch) {
  RequireLeading();
  return client_.Patch(path, watcher::PatchType::kMerge, patch);
}

json Writer::PatchStatus(const std::string& path, const json& patch) {
  return Merge(path + "/status", patch);
}

void Writer::DeletePort(const std::string& name_space, const std::string& name,
                        const std::string& uid) {
  const std::string path = PortsPath(name_space) + "/" + name;
  try {
    RequireLeading();
    const json deleted = client_.Delete(
        path, {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"preconditions", {{"uid", uid}}}});
    // Where no finalizer holds it, the answer is a Status.
    if (StringAt(deleted, "kind") == "KuryrPort" && !Release(path, deleted)) return;
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
  }
  store_.ForgetPort(KeyOf(name_space, name), uid);
}

bool Writer::Release(const std::string& path, const json& deleted) {
  json finalizers = deleted.at("metadata").value("finalizers", json::array());
  const auto ours = std::find(finalizers.begin(), finalizers.end(), kPortFinalizer);
  if (ours == finalizers.end()) return false;
  finalizers.erase(ours);
  const PortVersion version = VersionOf(deleted);
  RequireLeading();
  client_.Patch(
      path, watcher::PatchType::kMerge,
      {{"metadata",
        {{"uid", version.uid}, {"resourceVersion", version.version}, {"finalizers", finalizers}}}});
  return finalizers.empty();
}

bool HasPutFinalizer(const json& pod) {
  static const json::json_pointer kPlace = json::json_pointer("/fieldsV1/f:metadata/f:finalizers") /
                                           ("v:\"" + std::string(kPodFinalizer) + "\"");
  static const json::json_pointer kEntries("/metadata/managedFields");
  if (!pod.contains(kEntries)) return false;
  const json& entries = pod.at(kEntries);
  return std::any_of(entries.begin(), entries.end(), [](const json& entry) {
    return StringAt(entry, "manager") == kPlanner && entry.contains(kPlace);
  });
}

std::string WithMissingRight(const std::exception& failure) {
  std::string text = failure.what();
  const auto* refusal = dynamic_cast<const watcher::ApiError*>(&failure);
  if (refusal != nullptr && refusal->code() == watcher::ApiError::kForbidden)
    text += "; rbac-controller.yaml of this release gives the right: apply it";
  return text;
}

}  // namespace kuryr::controller
