#pragma once

#include <exception>
#include <functional>

namespace kuryr::binding {

/// What has to be tried even when something before it failed: throws the first failure at the end.
class Steps {
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
