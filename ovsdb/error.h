#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace kuryr {

/// A std::system_error that says its own words alone, without those of its code.
class WordedError : public std::system_error {
 public:
  WordedError(std::error_code code, const std::string& what)
      : std::system_error(code), text_(what) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;
};

/// The server, or who serves its rows, refused or could not do something; what() has its own words.
/// EIO for whoever looks at the code only.
class OvsError : public WordedError {
 public:
  explicit OvsError(const std::string& what)
      : WordedError(std::make_error_code(std::errc::io_error), what) {}
};

/// The connection to ovsdb-server ended under a request, which may have been done.
class OvsdbConnectionLost : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// ovsdb-server is down, and was waited for in vain. ETIMEDOUT for whoever looks at the code only.
class OvsdbAway : public WordedError {
 public:
  explicit OvsdbAway(const std::string& what)
      : WordedError(std::make_error_code(std::errc::timed_out), what) {}
};

}  // namespace kuryr
