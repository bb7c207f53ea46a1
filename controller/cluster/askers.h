#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "controller/kinds/key.h"

namespace kuryr::controller {

/// Pods that asked for an object in vain; its appearance wakes them. Not thread-safe.
class Askers {
 public:
  /// The most that are remembered. Forgotten pods ask again by themselves, later.
  static constexpr size_t kMost = 10'000;

  void Add(const std::string& wanted, const Key& asker);
  /// Returns those that asked for `wanted`, and forgets them.
  [[nodiscard]] std::set<Key> Take(const std::string& wanted);
  /// The number of pairs of an object and a pod that asked for it.
  [[nodiscard]] size_t size() const noexcept { return size_; }

 private:
  std::map<std::string, std::set<Key>> by_wanted_;
  size_t size_ = 0;
};

}  // namespace kuryr::controller
