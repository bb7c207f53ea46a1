#include "tests/fake_apiserver/patch.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

json ParseMergePatch(const std::string& body) {
  const std::string complaint = "Invalid JSON Patch";
  try {
    json patch = ParseJson(body);
    if (!patch.is_object()) throw InternalError(complaint);
    return patch;
  } catch (const ParseError&) {
    throw InternalError(complaint);
  }
}

void DropDirectives(json& patch) {
  if (patch.is_array()) {
    for (json& element : patch) DropDirectives(element);
  }
  if (!patch.is_object()) return;
  for (auto member = patch.begin(); member != patch.end();) {
    if (member.key().starts_with('$')) {
      member = patch.erase(member);
    } else {
      DropDirectives(*member);
      ++member;
    }
  }
}

json ApplyJsonPatch(const std::string& body, const json& object) {
  try {
    return object.patch(ParseJson(body));
  } catch (const ParseError& e) {
    throw BadRequest(e.what());
  } catch (const json::parse_error& e) {
    throw BadRequest(e.what());
  } catch (const json::exception&) {
    throw PatchDoesNotApply();
  }
}

}  // namespace

PatchType ParsePatchType(const Resource& resource, const std::string& content_type) {
  const std::string type = content_type.substr(0, content_type.find(';'));
  if (type == "application/merge-patch+json") return PatchType::kMerge;
  if (type == "application/json-patch+json") return PatchType::kJson;
  if (type == "application/strategic-merge-patch+json" && !resource.custom) {
    return PatchType::kStrategicMerge;
  }
  throw UnsupportedPatch(resource);
}

json ApplyPatch(PatchType type, const std::string& body, const json& object) {
  if (type == PatchType::kJson) return ApplyJsonPatch(body, object);
  json patch = ParseMergePatch(body);
  if (type == PatchType::kStrategicMerge) DropDirectives(patch);
  json patched = object;
  patched.merge_patch(patch);
  return patched;
}

}  // namespace kuryr::fake
