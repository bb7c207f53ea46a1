#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace kuryr::controller {

/// Who asked in vain, by what they asked for: they are woken when it is there. Not thread-safe.
class Askers {
 public:
  /// More are not remembered: they ask again by themselves, later.
  static constexpr size_t kMost = 10'000;

  void Add(const std::string& wanted, const std::string& asker);
  /// Those who asked for it, who are forgotten.
  [[nodiscard]] std::set<std::string> Take(const std::string& wanted);
  /// How many times somebody is to be woken.
  [[nodiscard]] size_t size() const noexcept { return size_; }

 private:
  std::map<std::string, std::set<std::string>> by_wanted_;
  size_t size_ = 0;
};

}  // namespace kuryr::controller
