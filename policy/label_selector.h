#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "policy/policy_field.h"

namespace kuryr::policy {

using Labels = std::map<std::string, std::string>;

/// Chooses objects by their labels (LabelSelector of k8s.io/apimachinery meta/v1). All requirements
/// have to hold, so an empty selector chooses everything.
class LabelSelector {
 public:
  LabelSelector() = default;
  /// A field that is not there is an empty selector. Throws ParseError. A key or value that no
  /// label can have is refused.
  LabelSelector(const PolicyField& field, PolicyBudget& budget);

  [[nodiscard]] bool Matches(const Labels& labels) const;
  /// As kubectl writes selectors: "app=web,tier in (x,y),!old". Equal selectors give equal texts,
  /// and different ones different texts.
  [[nodiscard]] std::string ToString() const;

  auto operator<=>(const LabelSelector&) const = default;

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::set<std::string> values;

    auto operator<=>(const Requirement&) const = default;

    [[nodiscard]] bool Holds(const Labels& labels) const;
    void AppendTo(std::string& text) const;
  };

  [[nodiscard]] static Requirement ParseExpression(const PolicyField& field, PolicyBudget& budget);

  std::vector<Requirement> requirements_;  ///< sorted, each once
};

}  // namespace kuryr::policy
