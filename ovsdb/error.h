#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace kuryr {

/// A std::system_error whose what() has only its own message, not its code's.
class WordedError : public std::system_error {
 public:
  WordedError(std::error_code code, const std::string& what)
      : std::system_error(code), text_(what) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;
};

/// ovsdb-server, or the daemon that acts on its rows, refused or failed; what() has its message.
/// The code is EIO.
class OvsError : public WordedError {
 public:
  explicit OvsError(const std::string& what)
      : WordedError(std::make_error_code(std::errc::io_error), what) {}
};

/// The connection to ovsdb-server ended during a request, which the server may have done.
class OvsdbConnectionLost : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// ovsdb-server is down, and did not come back in time. The code is ETIMEDOUT.
class OvsdbAway : public WordedError {
 public:
  explicit OvsdbAway(const std::string& what)
      : WordedError(std::make_error_code(std::errc::timed_out), what) {}
};

}  // namespace kuryr
