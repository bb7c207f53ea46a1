#pragma once

#include <string>

#include "controller/plan/plan_request.h"

namespace kuryr::controller {

/// "NAMESPACE/NAME", or "/NAME" for an object without a namespace.
[[nodiscard]] inline std::string KeyOf(const std::string& name_space, const std::string& name) {
  return name_space + "/" + name;
}
[[nodiscard]] inline std::string KeyOf(const Owner& owner) {
  return KeyOf(owner.scope, owner.name);
}
/// A node's key.
[[nodiscard]] inline std::string NodeKeyOf(const std::string& name) { return KeyOf("", name); }

[[nodiscard]] inline bool IsNodeKey(const std::string& key) { return key.starts_with('/'); }

}  // namespace kuryr::controller
