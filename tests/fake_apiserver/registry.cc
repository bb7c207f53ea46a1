#include "tests/fake_apiserver/registry.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/fake_apiserver/metadata.h"
#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

std::string TextOf(const json& object, const char* pointer) {
  const json::json_pointer path(pointer);
  if (!object.contains(path)) return {};
  const json& value = object.at(path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool HasFinalizers(const json& object) {
  const json::json_pointer path("/metadata/finalizers");
  return object.contains(path) && !object.at(path).empty();
}

bool IsPod(const Resource& resource) { return resource.plural == "pods" && !resource.custom; }

void Restore(json& object, const json& from, const char* key) {
  if (from.contains(key)) {
    object[key] = from.at(key);
  } else {
    object.erase(key);
  }
}

/// Go leaves empty maps out.
void DropEmpty(json& metadata) {
  for (const char* key : {"annotations", "labels", "finalizers"}) {
    if (metadata.contains(key) && metadata.at(key).empty()) metadata.erase(key);
  }
}

void CheckType(const Resource& resource, const json& object) {
  const auto check = [&](const char* key, const std::string& expected) {
    if (object.contains(key) && object.at(key) != expected) {
      throw BadRequest(std::string("the ") + key + " in the data (" + object.at(key).dump() +
                       ") does not match the expected " + key + " (" + expected + ")");
    }
  };
  if (!object.is_object()) throw BadRequest("json: cannot unmarshal into Go value");
  check("kind", resource.kind);
  check("apiVersion", resource.ApiVersion());
}

bool IsSubdomain(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto is_inner = [&](char c) { return is_letter(c) || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 253 && is_letter(name.front()) && is_letter(name.back()) &&
         std::all_of(name.begin(), name.end(), is_inner);
}

/// Takes the name from generateName when there is none.
std::string NameFor(const Resource& resource, json& metadata) {
  std::string name = metadata.value("name", "");
  if (name.empty() && metadata.contains("generateName")) {
    name = metadata.at("generateName").get<std::string>() + NewSuffix();
  }
  if (name.empty()) {
    throw Invalid(resource, "", "metadata.name", "FieldValueRequired",
                  "Required value: name or generateName is required");
  }
  if (!IsSubdomain(name)) {
    throw Invalid(
        resource, name, "metadata.name", "FieldValueInvalid",
        "Invalid value: \"" + name +
            "\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
            "characters, '-' or '.', and must start and end with an alphanumeric character");
  }
  metadata["name"] = name;
  return name;
}

void CheckEvent(const Resource& resource, const std::string& ns, const json& object) {
  if (resource.plural != "events") return;
  const std::string involved = TextOf(object, "/involvedObject/namespace");
  if (!involved.empty() && involved != ns) {
    throw Invalid(resource, TextOf(object, "/metadata/name"), "involvedObject.namespace",
                  "FieldValueInvalid",
                  "Invalid value: \"" + involved + "\": does not match event.namespace");
  }
}

/// All that the API server decides about a new object's metadata.
void StampNew(const Resource& resource, const std::string& ns, json& object) {
  json& metadata = object["metadata"];
  if (!metadata.value("resourceVersion", "").empty()) {
    throw InternalError("resourceVersion should not be set on objects to be created");
  }
  const std::string asked_ns = metadata.value("namespace", ns);
  if (asked_ns != ns) {
    throw BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  for (const char* key : {"deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"}) {
    metadata.erase(key);
  }
  NameFor(resource, metadata);
  if (resource.namespaced) metadata["namespace"] = ns;
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = FormatTime(std::time(nullptr));
  if (resource.custom) metadata["generation"] = 1;
  DropEmpty(metadata);
  object["kind"] = resource.kind;
  object["apiVersion"] = resource.ApiVersion();
}

void CheckPreconditions(const Resource& resource, const json& present, const json& next) {
  const std::string name = TextOf(present, "/metadata/name");
  const std::string version = TextOf(next, "/metadata/resourceVersion");
  if (version.empty() && resource.custom) {
    throw Invalid(resource, name, "metadata.resourceVersion", "FieldValueInvalid",
                  "Invalid value: 0x0: must be specified for an update");
  }
  if (!version.empty() && version != TextOf(present, "/metadata/resourceVersion")) {
    throw Conflict(resource, name,
                   "the object has been modified; please apply your changes to the latest version "
                   "and try again");
  }
  const std::string uid = TextOf(next, "/metadata/uid");
  const std::string present_uid = TextOf(present, "/metadata/uid");
  if (!uid.empty() && uid != present_uid) {
    throw Conflict(resource, name,
                   "Precondition failed: UID in precondition: " + uid +
                       ", UID in object meta: " + present_uid);
  }
}

/// A pod's spec without the parts that may change.
json FixedSpec(const json& pod) {
  json spec = pod.value("spec", json::object());
  spec.erase("activeDeadlineSeconds");
  spec.erase("tolerations");
  for (const char* key : {"containers", "initContainers"}) {
    if (!spec.contains(key)) continue;
    for (json& container : spec[key]) container.erase("image");
  }
  return spec;
}

void CheckPodSpec(const json& present, const json& next) {
  if (FixedSpec(present) == FixedSpec(next)) return;
  static const Resource kPods = BuiltInResources().front();
  throw Invalid(kPods, TextOf(present, "/metadata/name"), "spec", "FieldValueForbidden",
                "Forbidden: pod updates may not change fields other than "
                "`spec.containers[*].image`, `spec.initContainers[*].image`, "
                "`spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing "
                "tolerations)");
}

/// Puts back everything in `next` that a write of `part` does not reach.
void KeepOutOfReach(const Resource& resource, const json& present, Part part, json& next) {
  Restore(next, present, "kind");
  Restore(next, present, "apiVersion");
  for (const char* key :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "resourceVersion",
        "deletionGracePeriodSeconds", "generation", "managedFields", "generateName"}) {
    Restore(next["metadata"], present.at("metadata"), key);
  }
  DropEmpty(next["metadata"]);
  if (!resource.has_status || part == Part::kAll) return;
  Restore(next, present, part == Part::kStatus ? "spec" : "status");
  if (part == Part::kStatus && resource.custom) Restore(next, present, "metadata");
}

/// A deletion begins: MODIFIED, with the time by which the object should be gone.
json MarkDeleted(const Resource& resource, const json& present, int64_t grace) {
  json next = present;
  json& metadata = next["metadata"];
  std::time_t end = std::time(nullptr) + grace;
  if (metadata.contains("deletionTimestamp")) {
    end = ParseTime(metadata.at("deletionTimestamp").get<std::string>()) + grace -
          metadata.at("deletionGracePeriodSeconds").get<int64_t>();
  }
  metadata["deletionTimestamp"] = FormatTime(end);
  metadata["deletionGracePeriodSeconds"] = grace;
  if (resource.custom) metadata["generation"] = metadata.value("generation", 0) + 1;
  return next;
}

int64_t GraceOf(const json& pod, const DeleteOptions& options) {
  const std::string phase = TextOf(pod, "/status/phase");
  if (TextOf(pod, "/spec/nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const json::json_pointer own("/spec/terminationGracePeriodSeconds");
  return options.grace_seconds.value_or(pod.contains(own) ? pod.at(own).get<int64_t>()
                                                          : int64_t{30});
}

std::vector<ObjectStore::Write> DecideDelete(const Resource& resource, const json& present,
                                             const DeleteOptions& options) {
  const json& metadata = present.at("metadata");
  const bool deleting = metadata.contains("deletionTimestamp");
  if (!IsPod(resource)) {
    if (!HasFinalizers(present)) return {{.object = present, .remove = true}};
    if (deleting) return {};
    return {{.object = MarkDeleted(resource, present, 0)}};
  }
  const int64_t grace = GraceOf(present, options);
  if (deleting && grace >= metadata.at("deletionGracePeriodSeconds").get<int64_t>()) return {};
  const json next = MarkDeleted(resource, present, grace);
  if (grace > 0 || HasFinalizers(present)) return {{.object = next}};
  return {{.object = next}, {.object = next, .remove = true}};
}

}  // namespace

ObjectKey KeyOf(const Resource& resource, const std::string& ns, const std::string& name) {
  return {.collection = resource.QualifiedName(),
          .ns = resource.namespaced ? ns : std::string(),
          .name = name};
}

Object Registry::Create(const Resource& resource, const std::string& ns, json object, Part part,
                        const std::string& manager) {
  CheckType(resource, object);
  StampNew(resource, ns, object);
  CheckEvent(resource, ns, object);
  if (resource.has_status && part != Part::kAll) object.erase("status");
  FillDefaults(resource, object);
  SetManagedFields(object, manager);

  const std::string name = TextOf(object, "/metadata/name");
  return store_
      .Apply(KeyOf(resource, ns, name),
             [&](const Object& present) -> std::vector<ObjectStore::Write> {
               if (present) throw AlreadyExists(resource, name);
               return {{.object = std::move(object)}};
             })
      .front();
}

Object Registry::Update(const Resource& resource, const ObjectKey& key, const Edit& edit, Part part,
                        const std::string& manager) {
  Object unchanged;
  const auto decide = [&](const Object& present) -> std::vector<ObjectStore::Write> {
    if (!present) throw NotFound(resource, key.name);
    json next = edit(*present);
    CheckType(resource, next);
    CheckPreconditions(resource, *present, next);
    KeepOutOfReach(resource, *present, part, next);
    if (IsPod(resource) && part == Part::kObject) CheckPodSpec(*present, next);
    if (next == *present) {
      unchanged = present;
      return {};
    }
    json& metadata = next["metadata"];
    if (resource.custom && next.value("spec", json()) != present->value("spec", json())) {
      metadata["generation"] = metadata.value("generation", 0) + 1;
    }
    const bool last_finalizer_gone = metadata.contains("deletionTimestamp") &&
                                     metadata.at("deletionGracePeriodSeconds") == 0 &&
                                     !HasFinalizers(next);
    if (last_finalizer_gone) return {{.object = std::move(next), .remove = true}};
    SetManagedFields(next, manager);
    return {{.object = std::move(next)}};
  };
  const std::vector<Object> written = store_.Apply(key, decide);
  return written.empty() ? unchanged : written.front();
}

Deletion Registry::Delete(const Resource& resource, const ObjectKey& key,
                          const DeleteOptions& options) {
  Object unchanged;
  bool at_once = false;
  const auto decide = [&](const Object& present) {
    if (!present) throw NotFound(resource, key.name);
    const std::string uid = TextOf(*present, "/metadata/uid");
    if (!options.uid.empty() && options.uid != uid) {
      throw Conflict(resource, key.name,
                     "Precondition failed: UID in precondition: " + options.uid +
                         ", UID in object meta: " + uid);
    }
    unchanged = present;
    auto writes = DecideDelete(resource, *present, options);
    at_once = !writes.empty() && writes.front().remove;
    return writes;
  };
  const std::vector<Object> written = store_.Apply(key, decide);
  return {.object = written.empty() ? unchanged : written.front(), .at_once = at_once};
}

}  // namespace kuryr::fake
