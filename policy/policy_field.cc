#include "policy/policy_field.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;

}  // namespace

bool PolicyField::is_there() const noexcept { return !value_->is_null(); }
bool PolicyField::is_string() const noexcept { return value_->is_string(); }
bool PolicyField::is_empty() const noexcept {
  return !is_there() || (value_->is_array() && value_->empty());
}

PolicyField PolicyField::At(const char* key) const {
  static const json kNone;
  std::string path = path_ + PathStep(key);
  if (!is_there()) return {kNone, std::move(path)};
  if (!value_->is_object()) Refuse("is no object");
  const auto member = value_->find(key);
  return {member == value_->end() ? kNone : *member, std::move(path)};
}

void PolicyField::AllowOnly(std::initializer_list<std::string_view> keys) const {
  if (!is_there()) Refuse("is null");
  if (!value_->is_object()) Refuse("is no object");
  for (const auto& [key, member] : value_->items()) {
    if (!member.is_null() && std::find(keys.begin(), keys.end(), key) == keys.end())
      Refuse("has a member that is not known: \"" + Printable(key) + "\"");
  }
}

std::vector<std::pair<std::string, PolicyField>> PolicyField::Members(PolicyBudget& budget) const {
  std::vector<std::pair<std::string, PolicyField>> members;
  if (!is_there()) return members;
  if (!value_->is_object()) Refuse("is no object");
  if (!budget.Take(value_->size())) Refuse("is more than a policy may have");
  members.reserve(value_->size());
  for (const auto& [key, member] : value_->items())
    members.emplace_back(key, PolicyField(member, path_ + PathStep(key)));
  return members;
}

std::vector<PolicyField> PolicyField::Items(PolicyBudget& budget) const {
  std::vector<PolicyField> items;
  if (!is_there()) return items;
  if (!value_->is_array()) Refuse("is no list");
  if (!budget.Take(value_->size())) Refuse("is more than a policy may have");
  items.reserve(value_->size());
  for (const json& item : *value_)
    items.emplace_back(item, path_ + "[" + std::to_string(items.size()) + "]");
  return items;
}

const std::string& PolicyField::Text() const {
  if (!value_->is_string()) Refuse("is no string");
  return value_->get_ref<const std::string&>();
}

int64_t PolicyField::Number(int64_t least, int64_t most) const {
  const auto refuse = [&] {
    Refuse("is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
  };
  if (!value_->is_number_integer()) refuse();
  // A number above INT64_MAX is unsigned, and would become a negative one.
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > INT64_MAX) refuse();
  const auto number = value_->get<int64_t>();
  if (number < least || number > most) refuse();
  return number;
}

void PolicyField::Refuse(const std::string& reason) const { throw ParseError(path_, reason); }

void PolicyField::RefuseText(const std::string& expected) const {
  Refuse("is \"" + Printable(Text()) + "\"; expected " + expected);
}

}  // namespace kuryr::policy
