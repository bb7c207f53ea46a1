#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace kuryr::fake {

/// A parsed answer.
struct RawAnswer {
  std::string status_line;                     // "HTTP/1.1 200 OK"
  std::map<std::string, std::string> headers;  // names in lower case
  std::vector<std::string> chunks;             // empty unless chunked
  std::string body;                            // without chunk framing
  bool complete = false;                       // it has the last chunk, or all of Content-Length

  [[nodiscard]] bool IsChunked() const { return headers.contains("transfer-encoding"); }
  [[nodiscard]] int Status() const;
};

/// Parses what a server sent until it closed, for one answer per connection. Missing parts are left
/// out.
[[nodiscard]] RawAnswer ParseAnswer(const std::string& bytes);

/// The lines of a watch, as JSON. Throws ParseError.
[[nodiscard]] std::vector<nlohmann::json> ParseEvents(const std::string& body);

/// A connection to 127.0.0.1 that sends and receives bytes as they are, without an HTTP library
/// that might share its errors with the server. Waits at most ten seconds for bytes.
class RawClient {
 public:
  /// Throws std::system_error: std::errc::connection_refused if no server listens.
  explicit RawClient(uint16_t port);

  void Send(const std::string& bytes);
  /// Reads until the server closes. Throws std::system_error with std::errc::timed_out.
  [[nodiscard]] std::string ReadToEnd();
  /// Reads until `text` has come; returns all bytes up to its end. Throws std::runtime_error when
  /// the server closes before.
  [[nodiscard]] std::string ReadUntil(const std::string& text);
  /// Whether neither bytes nor the end of the stream have come.
  [[nodiscard]] bool IsQuiet() const;

 private:
  [[nodiscard]] bool ReadMore();

  UniqueFd socket_;
  std::string received_;
};

/// Sends one GET, on a connection of its own.
[[nodiscard]] RawAnswer Get(uint16_t port, const std::string& target);
/// The bytes of a GET; the server closes after its answer.
[[nodiscard]] std::string GetRequest(const std::string& target);
/// The bytes of a request with a body; the server closes after its answer.
[[nodiscard]] std::string Request(const std::string& method, const std::string& target,
                                  const std::string& content_type, const std::string& body);
/// Sends one request, on a connection of its own.
[[nodiscard]] RawAnswer Exchange(uint16_t port, const std::string& request);

}  // namespace kuryr::fake
