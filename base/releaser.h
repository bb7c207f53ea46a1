#pragma once

namespace kuryr {

/// std::unique_ptr's deleter for a C object; a handle stays one pointer wide.
template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const noexcept {
    Release(object);
  }
};

}  // namespace kuryr
