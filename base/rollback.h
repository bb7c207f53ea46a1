#pragma once

#include <functional>
#include <utility>

namespace kuryr {

/// Undoes one act when the scope is left before Dismiss(). Stands next to the act that it undoes.
/// The action must not throw.
class Rollback {
 public:
  explicit Rollback(std::function<void()> undo) : undo_(std::move(undo)) {}
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    if (undo_) undo_();
  }

  void Dismiss() noexcept { undo_ = nullptr; }

 private:
  std::function<void()> undo_;
};

}  // namespace kuryr
