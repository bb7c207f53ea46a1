#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

enum class PatchType { kMerge, kJson, kStrategicMerge };

/// Throws Refusal (415) for a content type that `resource` does not accept: custom resources have
/// no strategic merge.
[[nodiscard]] PatchType ParsePatchType(const Resource& resource, const std::string& content_type);

/// The object after the patch: RFC 7386, RFC 6902, or a strategic merge whose lists are replaced
/// and whose directives ($patch, $setElementOrder/...) are dropped. Throws Refusal: 422 for a test
/// or a path that fails, 400 for a JSON patch that is none, 500 for a merge patch that is none.
[[nodiscard]] nlohmann::json ApplyPatch(PatchType type, const std::string& body,
                                        const nlohmann::json& object);

}  // namespace kuryr::fake
