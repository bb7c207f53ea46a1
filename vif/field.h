#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace kuryr::vif {

struct Null {
  bool operator==(const Null&) const = default;
};

/// A field of a versioned object: unset (its key is absent), null, or a value. The three are
/// different on the wire, and stay different here. A default-constructed field is unset.
/// operator* and operator-> need a value; value() throws std::bad_optional_access without one.
template <typename T>
class Field {
 public:
  Field() = default;
  Field(T value) : value_(std::move(value)) {}
  Field(Null) : null_(true) {}
  /// A string literal for a text, one kind for a variant of kinds.
  template <typename U>
    requires std::is_class_v<T> && std::convertible_to<U, T> &&
             (!std::same_as<std::remove_cvref_t<U>, T>) &&
             (!std::same_as<std::remove_cvref_t<U>, Field>) &&
             (!std::same_as<std::remove_cvref_t<U>, Null>)
  Field(U&& value) : value_(std::forward<U>(value)) {}

  [[nodiscard]] bool is_set() const noexcept { return null_ || value_.has_value(); }
  [[nodiscard]] bool is_null() const noexcept { return null_; }
  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }

  [[nodiscard]] const T& value() const { return value_.value(); }
  [[nodiscard]] T& value() { return value_.value(); }
  [[nodiscard]] T value_or(T other) const { return value_.value_or(std::move(other)); }
  const T& operator*() const noexcept { return *value_; }
  T& operator*() noexcept { return *value_; }
  const T* operator->() const noexcept { return &*value_; }
  T* operator->() noexcept { return &*value_; }

  void reset() noexcept { *this = Field(); }
  /// Sets the field to a value made of `args`, and returns that value.
  template <typename... Args>
  T& emplace(Args&&... args) {
    null_ = false;
    return value_.emplace(std::forward<Args>(args)...);
  }

  bool operator==(const Field&) const = default;

 private:
  std::optional<T> value_;
  bool null_ = false;
};

}  // namespace kuryr::vif
