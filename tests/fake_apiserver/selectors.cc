#include "tests/fake_apiserver/selectors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using Operator = Requirement::Operator;

std::string Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

/// Splits at commas outside of parentheses.
std::vector<std::string> SplitTerms(const std::string& text) {
  std::vector<std::string> terms;
  std::string term;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) {
      terms.push_back(Trimmed(term));
      term.clear();
    } else {
      term += c;
    }
  }
  if (!Trimmed(term).empty()) terms.push_back(Trimmed(term));
  return terms;
}

std::optional<Requirement> ParseComparison(const std::string& term) {
  const size_t equals = term.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  const bool negated = term[equals - 1] == '!';
  const bool twice = equals + 1 < term.size() && term[equals + 1] == '=';
  return Requirement{.key = Trimmed(term.substr(0, equals - (negated ? 1 : 0))),
                     .op = negated ? Operator::kNotEquals : Operator::kEquals,
                     .values = {Trimmed(term.substr(equals + (twice ? 2 : 1)))}};
}

std::optional<Requirement> ParseSet(const std::string& term) {
  const size_t open = term.find('(');
  if (open == std::string::npos || term.back() != ')') return std::nullopt;
  const std::string head = Trimmed(term.substr(0, open));
  const size_t space = head.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::string op = Trimmed(head.substr(space));
  if (op != "in" && op != "notin") return std::nullopt;
  return Requirement{.key = head.substr(0, space),
                     .op = op == "in" ? Operator::kIn : Operator::kNotIn,
                     .values = SplitTerms(term.substr(open + 1, term.size() - open - 2))};
}

Requirement ParseLabelTerm(const std::string& term) {
  if (const auto set = ParseSet(term)) return *set;
  if (const auto comparison = ParseComparison(term)) return *comparison;
  const bool negated = term.starts_with('!');
  const std::string key = negated ? Trimmed(term.substr(1)) : term;
  if (key.empty() || key.find_first_of("=!()<> ") != std::string::npos) {
    throw BadRequest("unable to parse requirement: found '" + term + "'");
  }
  return {.key = key, .op = negated ? Operator::kNotExists : Operator::kExists};
}

Requirement ParseFieldTerm(const Resource& resource, const std::string& term) {
  const auto requirement = ParseComparison(term);
  if (!requirement)
    throw BadRequest("invalid selector: '" + term + "'; can't understand '" + term + "'");
  const std::string& key = requirement->key;
  const auto& known = resource.selectable_fields;
  if (key != "metadata.name" && key != "metadata.namespace" &&
      std::find(known.begin(), known.end(), key) == known.end()) {
    throw BadRequest("field label not supported: " + key);
  }
  return *requirement;
}

/// A field's value as selectors see it: absent is the empty string.
std::string FieldOf(const nlohmann::json& object, const std::string& dotted) {
  // The field of an Event (pkg/registry/core/event/strategy.go).
  std::string path = dotted == "source" ? "/source/component" : "/" + dotted;
  std::replace(path.begin(), path.end(), '.', '/');
  const nlohmann::json::json_pointer pointer(path);
  if (!object.contains(pointer)) return {};
  const nlohmann::json& value = object.at(pointer);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<std::string> LabelOf(const nlohmann::json& object, const std::string& key) {
  const nlohmann::json::json_pointer labels("/metadata/labels");
  if (!object.contains(labels)) return std::nullopt;
  const auto found = object.at(labels).find(key);
  if (found == object.at(labels).end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

bool IsMet(const Requirement& requirement, const std::optional<std::string>& value) {
  const auto& values = requirement.values;
  const bool listed = value && std::find(values.begin(), values.end(), *value) != values.end();
  switch (requirement.op) {
    case Operator::kEquals:
    case Operator::kIn:
      return listed;
    case Operator::kNotEquals:
    case Operator::kNotIn:
      return !listed;
    case Operator::kExists:
      return value.has_value();
    case Operator::kNotExists:
      return !value;
  }
  return false;
}

}  // namespace

Selector::Selector(const Resource& resource, const std::string& fields, const std::string& labels) {
  for (const std::string& term : SplitTerms(fields)) {
    fields_.push_back(ParseFieldTerm(resource, term));
  }
  for (const std::string& term : SplitTerms(labels)) labels_.push_back(ParseLabelTerm(term));
}

bool Selector::Matches(const nlohmann::json& object) const {
  const auto field_met = [&](const Requirement& r) { return IsMet(r, FieldOf(object, r.key)); };
  const auto label_met = [&](const Requirement& r) { return IsMet(r, LabelOf(object, r.key)); };
  return std::all_of(fields_.begin(), fields_.end(), field_met) &&
         std::all_of(labels_.begin(), labels_.end(), label_met);
}

std::optional<std::string> Selector::ExactName() const {
  for (const Requirement& requirement : fields_) {
    if (requirement.key == "metadata.name" && requirement.op == Operator::kEquals) {
      return requirement.values.front();
    }
  }
  return std::nullopt;
}

}  // namespace kuryr::fake
