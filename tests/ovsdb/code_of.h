#pragma once

#include <functional>
#include <string>
#include <system_error>

namespace kuryr {

/// The code of the std::system_error that `action` throws; 0 when it throws none.
inline std::error_code CodeOf(const std::function<void()>& action, std::string* what = nullptr) {
  try {
    action();
  } catch (const std::system_error& e) {
    if (what != nullptr) *what = e.what();
    return e.code();
  }
  return {};
}

}  // namespace kuryr
