#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

/// One condition of a selector.
struct Requirement {
  enum class Operator { kEquals, kNotEquals, kExists, kNotExists, kIn, kNotIn };

  std::string key;
  Operator op = Operator::kEquals;
  std::vector<std::string> values;  // one value for (not) equals, none for (not) exists
};

/// The objects that a list or a watch shows: those that meet every requirement of both kinds.
class Selector {
 public:
  /// Parses `fieldSelector` (k=v, k==v, k!=v, joined by comma; no values escaped by backslash) and
  /// `labelSelector` (these forms, and k, !k, k in (a,b), k notin (a,b)). Throws Refusal (400) for
  /// malformed text, and for a field that `resource` cannot select by.
  Selector(const Resource& resource, const std::string& fields, const std::string& labels);

  [[nodiscard]] bool Matches(const nlohmann::json& object) const;
  [[nodiscard]] bool empty() const noexcept { return fields_.empty() && labels_.empty(); }
  /// The name, when the fields ask for exactly one.
  [[nodiscard]] std::optional<std::string> ExactName() const;

 private:
  std::vector<Requirement> fields_;
  std::vector<Requirement> labels_;
};

}  // namespace kuryr::fake
