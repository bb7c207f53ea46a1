#pragma once

#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

/// The time as "2026-11-20T09:38:31Z".
[[nodiscard]] std::string FormatTime(std::time_t time);
/// The time of such a text; 0 for any other.
[[nodiscard]] std::time_t ParseTime(const std::string& text);

/// A random UUID.
[[nodiscard]] std::string NewUid();
/// Five letters and digits, as generateName appends them.
[[nodiscard]] std::string NewSuffix();

/// Replaces metadata.managedFields by one entry of `manager` for all fields of the object. It has
/// the size and the shape of the real one, without its history.
void SetManagedFields(nlohmann::json& object, const std::string& manager);

/// Fills in what the API server adds to a new object of this resource. For pods: the defaults of
/// spec and of its containers, and a pending status if there is none.
void FillDefaults(const Resource& resource, nlohmann::json& object);

}  // namespace kuryr::fake
