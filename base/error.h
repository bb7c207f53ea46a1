#pragma once

#include <stdexcept>
#include <string>

namespace kuryr {

/// Bad input. what() is "PATH: REASON": PATH leads to the field ("$.network.subnets[0].cidr", as in
/// JSONPath), REASON says what was found and what was expected.
class ParseError : public std::runtime_error {
 public:
  ParseError(std::string path, const std::string& reason)
      : std::runtime_error(path + ": " + reason), path_(std::move(path)), reason_(reason) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  std::string path_;
  std::string reason_;
};

/// Throws std::system_error for the present errno; `what` names the action and the object ("open
/// /run/kuryr").
[[noreturn]] void ThrowErrno(const std::string& what);
[[noreturn]] void ThrowErrno(int error, const std::string& what);

/// Text from strangers made safe for an error message or a log line: control characters escaped, at
/// most `max_length` bytes kept.
[[nodiscard]] std::string Printable(const std::string& text, size_t max_length = 80);

}  // namespace kuryr
