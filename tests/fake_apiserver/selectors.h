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
  std::vector<std::string> values;  // one for (not) equals, none for (not) exists
};

/// Which objects a list or a watch shows: every requirement of both kinds is met.
class Selector {
 public:
  /// Parses `fieldSelector` (k=v, k==v, k!=v, joined by comma; values escaped by backslash are not
  /// taken) and `labelSelector` (the same, and k, !k, k in (a,b), k notin (a,b)). Throws Refusal
  /// (400) for what is malformed or for a field that `resource` cannot select by.
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
