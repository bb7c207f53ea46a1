#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "controller/plan/plan_request.h"

namespace kuryr::controller {

/// "NAMESPACE/NAME", or "/NAME" for an object without a namespace.
[[nodiscard]] inline std::string KeyOf(const std::string& name_space, const std::string& name) {
  return name_space + "/" + name;
}
[[nodiscard]] inline std::string KeyOf(const Owner& owner) {
  return KeyOf(owner.scope, owner.name);
}

/// An object of a kind, which a round looks at.
struct Key {
  static constexpr std::string_view kPod = "pod";
  static constexpr std::string_view kNode = "node";

  std::string_view kind;  ///< the kind whose round looks at it: a constant, which outlives the key
  std::string object;     ///< as KeyOf

  [[nodiscard]] static Key OfPod(const std::string& name_space, const std::string& name) {
    return {kPod, KeyOf(name_space, name)};
  }
  [[nodiscard]] static Key OfNode(const std::string& name) { return {kNode, KeyOf("", name)}; }
  /// A pod or a node.
  [[nodiscard]] static Key Of(const Owner& owner) {
    return owner.is_node() ? OfNode(owner.name) : OfPod(owner.scope, owner.name);
  }

  /// For logs. An owner's key is its object alone.
  [[nodiscard]] std::string ToString() const {
    if (kind == kPod || kind == kNode) return object;
    return std::string(kind) + ":" + object;
  }
  auto operator<=>(const Key&) const = default;
};

/// Objects of one kind in one namespace share their turn.
[[nodiscard]] inline std::string TurnOf(const Key& key) {
  const std::string text = key.ToString();
  return text.substr(0, text.find('/'));
}

/// Gets the key of what a change may concern.
using Wake = std::function<void(const Key& key)>;

}  // namespace kuryr::controller

template <>
struct std::hash<kuryr::controller::Key> {
  size_t operator()(const kuryr::controller::Key& key) const noexcept {
    return std::hash<std::string>()(key.object) ^ std::hash<std::string_view>()(key.kind);
  }
};
