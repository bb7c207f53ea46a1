#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fake_apiserver/connection.h"

namespace kuryr::fake {

/// One HTTP/1.1 request, body and all. Names of headers are in lower case.
struct HttpRequest {
  std::string method;
  std::string target;  // as sent, for logs
  std::string path;    // percent-decoded, without the query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;
  std::string body;

  /// The value of the parameter or header; empty when absent.
  [[nodiscard]] std::string Query(const std::string& name) const;
  [[nodiscard]] std::string Header(const std::string& name) const;
  [[nodiscard]] bool KeepAlive() const { return Header("connection") != "close"; }
};

/// One whole answer.
struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  /// The time that passes before the answer is sent.
  std::chrono::milliseconds delay{0};
};

/// Reads the next request from the connection. Empty when the peer closes before one is complete.
/// Throws ParseError for bytes that are no request with a Content-Length (chunked bodies are not
/// taken).
[[nodiscard]] std::optional<HttpRequest> ReadRequest(Connection& connection);

/// Sends an answer the way Go's net/http does: with Content-Length up to 2048 bytes, else chunked.
/// False when the peer has closed.
[[nodiscard]] bool WriteAnswer(Connection& connection, const Answer& answer, bool keep_alive);

/// Sends the head of a chunked answer of type application/json.
[[nodiscard]] bool WriteStreamHead(Connection& connection, bool keep_alive);
/// Sends `bytes` as one chunk; an empty chunk ends the stream.
[[nodiscard]] bool WriteChunk(Connection& connection, std::string_view bytes);

}  // namespace kuryr::fake
