#include "tests/fake_apiserver/http_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "base/error.h"

namespace kuryr::fake {
namespace {

constexpr size_t kMaxHead = size_t{64} << 10;
constexpr size_t kMaxBody = size_t{16} << 20;
// From this size on Go's http.Server has flushed its buffer before it knows the length.
constexpr size_t kMaxUnchunked = 2048;

std::string PercentDecode(std::string_view text, bool plus_is_space) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16).ptr == &text[i + 1] + 2) {
      result += static_cast<char>(byte);
      i += 2;
    } else {
      result += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return result;
}

std::map<std::string, std::string> ParseQuery(std::string_view text) {
  std::map<std::string, std::string> result;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(pair.size(), equals + 1));
    if (!pair.empty()) {
      result.emplace(PercentDecode(pair.substr(0, equals), true), PercentDecode(value, true));
    }
  }
  return result;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string LowerCase(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

void ParseRequestLine(std::string_view line, HttpRequest& request) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || line.substr(last) != " HTTP/1.1") {
    throw ParseError("request line", "found " + Printable(std::string(line)));
  }
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  const std::string_view target = request.target;
  const size_t question = std::min(target.find('?'), target.size());
  request.path = PercentDecode(target.substr(0, question), false);
  request.query = ParseQuery(target.substr(std::min(target.size(), question + 1)));
}

HttpRequest ParseHead(std::string_view head) {
  HttpRequest request;
  bool first = true;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    if (std::exchange(first, false)) {
      ParseRequestLine(line, request);
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      throw ParseError("header", "found " + Printable(std::string(line)));
    }
    request.headers[LowerCase(line.substr(0, colon))] = Trim(line.substr(colon + 1));
  }
  return request;
}

size_t BodyLength(const HttpRequest& request) {
  if (!request.Header("transfer-encoding").empty()) {
    throw ParseError("header Transfer-Encoding", "bodies need a Content-Length here");
  }
  const std::string text = request.Header("content-length");
  if (text.empty()) return 0;
  size_t length = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, length).ptr != end || length > kMaxBody) {
    throw ParseError("header Content-Length", "found " + Printable(text));
  }
  return length;
}

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

/// The present time as "Fri, 20 Nov 2026 09:38:30 GMT".
std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  static_cast<void>(::gmtime_r(&now, &parts));
  std::array<char, 64> text{};
  return {text.data(),
          std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

std::string Head(const Answer& answer, bool keep_alive) {
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " " +
                     ReasonPhrase(answer.status) + "\r\nCache-Control: no-cache, private\r\n" +
                     "Content-Type: " + answer.content_type + "\r\n";
  for (const auto& [name, value] : answer.headers) {
    head.append(name).append(": ").append(value).append("\r\n");
  }
  head += "Date: " + HttpDate() + "\r\n";
  if (!keep_alive) head += "Connection: close\r\n";
  return head;
}

std::string Chunk(std::string_view bytes) {
  std::array<char, 16> size{};
  char* end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16).ptr;
  return std::string(size.data(), end).append("\r\n").append(bytes).append("\r\n");
}

}  // namespace

std::string HttpRequest::Query(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

std::string HttpRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::optional<HttpRequest> ReadRequest(Connection& connection) {
  std::string& input = connection.input();
  size_t end = 0;
  while ((end = input.find("\r\n\r\n")) == std::string::npos) {
    if (input.size() > kMaxHead) throw ParseError("head", "longer than 64 KiB");
    if (!connection.ReadMore()) return std::nullopt;
  }
  HttpRequest request = ParseHead(std::string_view(input).substr(0, end));
  const size_t length = BodyLength(request);
  while (input.size() < end + 4 + length) {
    if (!connection.ReadMore()) return std::nullopt;
  }
  request.body = input.substr(end + 4, length);
  input.erase(0, end + 4 + length);
  return request;
}

bool WriteAnswer(Connection& connection, const Answer& answer, bool keep_alive) {
  std::string bytes = Head(answer, keep_alive);
  if (answer.body.size() <= kMaxUnchunked) {
    bytes += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body;
  } else {
    bytes += "Transfer-Encoding: chunked\r\n\r\n" + Chunk(answer.body) + Chunk("");
  }
  return connection.Write(bytes);
}

bool WriteStreamHead(Connection& connection, bool keep_alive) {
  return connection.Write(Head(Answer{}, keep_alive) + "Transfer-Encoding: chunked\r\n\r\n");
}

bool WriteChunk(Connection& connection, std::string_view bytes) {
  return connection.Write(Chunk(bytes));
}

}  // namespace kuryr::fake
