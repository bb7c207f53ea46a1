#include "policy/label_selector.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace kuryr::policy {
namespace {

constexpr size_t kLongestKey = 317;  ///< PREFIX/NAME, of 253 and 63
constexpr size_t kLongestValue = 63;

bool IsLabelCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

void CheckKey(const std::string& key, const PolicyField& field) {
  const bool is_key =
      !key.empty() && key.size() <= kLongestKey &&
      std::all_of(key.begin(), key.end(), [](char c) { return IsLabelCharacter(c) || c == '/'; });
  if (!is_key) field.Refuse("\"" + Printable(key) + "\" is no key of a label");
}

const std::string& ValueOf(const PolicyField& field) {
  const std::string& value = field.Text();
  if (value.size() > kLongestValue || !std::all_of(value.begin(), value.end(), IsLabelCharacter))
    field.RefuseText("the value of a label");
  return value;
}

}  // namespace

LabelSelector::LabelSelector(const PolicyField& field, PolicyBudget& budget) {
  if (!field.is_there()) return;
  field.AllowOnly({"matchLabels", "matchExpressions"});
  const auto labels = field.At("matchLabels").Members(budget);
  const auto expressions = field.At("matchExpressions").Items(budget);
  requirements_.reserve(labels.size() + expressions.size());
  for (const auto& [key, value] : labels) {
    CheckKey(key, value);
    requirements_.push_back({.key = key, .op = Operator::kIn, .values = {ValueOf(value)}});
  }
  for (const PolicyField& expression : expressions)
    requirements_.push_back(ParseExpression(expression, budget));
  std::sort(requirements_.begin(), requirements_.end());
  requirements_.erase(std::unique(requirements_.begin(), requirements_.end()), requirements_.end());
}

LabelSelector::Requirement LabelSelector::ParseExpression(const PolicyField& field,
                                                          PolicyBudget& budget) {
  field.AllowOnly({"key", "operator", "values"});
  const PolicyField key = field.At("key");
  Requirement requirement{.key = key.Text()};
  CheckKey(requirement.key, key);
  const PolicyField values = field.At("values");
  for (const PolicyField& value : values.Items(budget)) requirement.values.insert(ValueOf(value));
  const PolicyField op = field.At("operator");
  if (op.Text() == "In") {
    requirement.op = Operator::kIn;
  } else if (op.Text() == "NotIn") {
    requirement.op = Operator::kNotIn;
  } else if (op.Text() == "Exists") {
    requirement.op = Operator::kExists;
  } else if (op.Text() == "DoesNotExist") {
    requirement.op = Operator::kDoesNotExist;
  } else {
    op.RefuseText("In, NotIn, Exists or DoesNotExist");
  }
  const bool compares = requirement.op == Operator::kIn || requirement.op == Operator::kNotIn;
  if (compares && requirement.values.empty()) values.Refuse("is empty");
  if (!compares && !requirement.values.empty())
    values.Refuse("is not empty, and the operator is " + op.Text());
  return requirement;
}

/// A label that is missing has none of the values.
bool LabelSelector::Requirement::Holds(const Labels& labels) const {
  const auto label = labels.find(key);
  const bool exists = label != labels.end();
  switch (op) {
    case Operator::kIn:
      return exists && values.contains(label->second);
    case Operator::kNotIn:
      return !exists || !values.contains(label->second);
    case Operator::kExists:
      return exists;
    case Operator::kDoesNotExist:
      return !exists;
  }
  return false;
}

bool LabelSelector::Matches(const Labels& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return requirement.Holds(labels); });
}

void LabelSelector::Requirement::AppendTo(std::string& text) const {
  if (op == Operator::kDoesNotExist) text += '!';
  text += key;
  if (values.empty()) return;
  const bool is_in = op == Operator::kIn;
  if (values.size() == 1) {
    text.append(is_in ? "=" : "!=").append(*values.begin());
    return;
  }
  text += is_in ? " in (" : " notin (";
  for (const std::string& value : values) text.append(value).append(",");
  text.back() = ')';
}

std::string LabelSelector::ToString() const {
  std::string text;
  for (const Requirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    requirement.AppendTo(text);
  }
  return text;
}

}  // namespace kuryr::policy
