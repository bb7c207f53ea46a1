#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kuryr::policy {

/// The parts and names that a policy may still have. An object of 1.5 MiB could have a million
/// parts, and each pod that its sets choose has their names.
class PolicyBudget {
 public:
  /// Rules, peers, ports, requirements of selectors, their values, exceptions of blocks, and the
  /// networks that these leave.
  static constexpr size_t kMostParts = 10'000;
  /// Bytes of names of sets: of each set once, of each named port of a set, and of each rule's
  /// subject.
  static constexpr size_t kMostText = size_t{128} << 10;

  /// False if fewer parts are left. Then none are left any more.
  [[nodiscard]] bool Take(size_t parts) noexcept { return TakeFrom(parts_, parts); }
  /// Takes a name of this length, and what keeps it.
  [[nodiscard]] bool TakeName(size_t bytes) noexcept { return TakeFrom(text_, bytes + kNameCost); }
  /// Takes the name of a set, unless it has been taken.
  [[nodiscard]] bool TakeSet(const std::string& name) {
    return names_.contains(name) || (TakeName(name.size()) && names_.insert(name).second);
  }

 private:
  static constexpr size_t kNameCost = 64;

  static bool TakeFrom(size_t& left, size_t wanted) noexcept {
    const bool has_them = wanted <= left;
    left = has_them ? left - wanted : 0;
    return has_them;
  }

  size_t parts_ = kMostParts;
  size_t text_ = kMostText;
  std::set<std::string> names_;
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

}  // namespace kuryr::policy
