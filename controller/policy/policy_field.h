#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kuryr::controller {

/// How many parts a policy may still have: rules, peers, ports, requirements of selectors, their
/// values, exceptions of blocks. An object of 1.5 MiB could have a million.
class PolicyBudget {
 public:
  static constexpr size_t kMostParts = 10'000;

  /// False if fewer parts are left. Then none are left any more.
  [[nodiscard]] bool Take(size_t parts) noexcept {
    const bool has_them = parts <= left_;
    left_ = has_them ? left_ - parts : 0;
    return has_them;
  }

 private:
  size_t left_ = kMostParts;
};

/// A value in a policy's object, and its place there. It borrows the object. All methods throw
/// ParseError, with that place, for a value of another kind.
class PolicyField {
 public:
  PolicyField(const nlohmann::json& value, std::string path)
      : value_(&value), path_(std::move(path)) {}

  /// False for a missing value, and for null, which the API takes for a missing one.
  [[nodiscard]] bool is_there() const noexcept;
  [[nodiscard]] bool is_string() const noexcept;
  /// Whether it is not there, or is a list without items.
  [[nodiscard]] bool is_empty() const noexcept;

  /// The object's member; one that is not there if the object has none, or is not there itself.
  [[nodiscard]] PolicyField At(const char* key) const;
  /// Refuses null, and an object with other members: those of a later API may mean anything.
  void AllowOnly(std::initializer_list<std::string_view> keys) const;
  /// The members of an object, taken from the budget; none if it is not there.
  [[nodiscard]] std::vector<std::pair<std::string, PolicyField>> Members(
      PolicyBudget& budget) const;
  /// The items of a list, taken from the budget; none if it is not there.
  [[nodiscard]] std::vector<PolicyField> Items(PolicyBudget& budget) const;
  [[nodiscard]] const std::string& Text() const;
  /// A whole number from `least` to `most`.
  [[nodiscard]] int64_t Number(int64_t least, int64_t most) const;

  [[noreturn]] void Refuse(const std::string& reason) const;
  /// Says what the text is, and what it should be.
  [[noreturn]] void RefuseText(const std::string& expected) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace kuryr::controller
