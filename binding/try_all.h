#pragma once

#include <exception>
#include <functional>

namespace kuryr::binding {

/// Runs steps that must all be tried, whatever fails before them. Finish throws the first failure.
class TryAll {
 public:
  void Try(const std::function<void()>& step) {
    try {
      step();
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void Finish() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace kuryr::binding
