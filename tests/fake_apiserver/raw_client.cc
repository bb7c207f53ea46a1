#include "tests/fake_apiserver/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::fake {
namespace {

constexpr int kPatienceMs = 10'000;

void ParseChunks(const std::string& bytes, RawAnswer& answer) {
  size_t at = 0;
  for (;;) {
    const size_t end = bytes.find("\r\n", at);
    if (end == std::string::npos) return;
    const size_t size = std::stoul(bytes.substr(at, end - at), nullptr, 16);
    answer.complete = size == 0 && bytes.substr(end + 2) == "\r\n";
    if (size == 0 || bytes.size() < end + 2 + size) return;
    answer.chunks.push_back(bytes.substr(end + 2, size));
    answer.body += answer.chunks.back();
    at = end + 2 + size + 2;
  }
}

}  // namespace

int RawAnswer::Status() const {
  return status_line.size() < 12 ? 0 : std::stoi(status_line.substr(9, 3));
}

RawAnswer ParseAnswer(const std::string& bytes) {
  RawAnswer answer;
  const size_t head_end = std::min(bytes.find("\r\n\r\n"), bytes.size());
  std::istringstream head(bytes.substr(0, head_end));
  std::string line;
  while (std::getline(head, line)) {
    if (line.ends_with('\r')) line.pop_back();
    const size_t colon = line.find(": ");
    if (answer.status_line.empty()) {
      answer.status_line = line;
    } else if (colon != std::string::npos) {
      std::string name = line.substr(0, colon);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      answer.headers[name] = line.substr(colon + 2);
    }
  }
  const std::string rest = bytes.substr(std::min(bytes.size(), head_end + 4));
  if (answer.IsChunked()) {
    ParseChunks(rest, answer);
  } else {
    answer.body = rest;
    answer.complete = answer.headers["content-length"] == std::to_string(rest.size());
  }
  return answer;
}

std::vector<nlohmann::json> ParseEvents(const std::string& body) {
  std::vector<nlohmann::json> events;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) events.push_back(ParseJson(line));
  return events;
}

RawClient::RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!socket_) ThrowErrno("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ThrowErrno("connect to port " + std::to_string(port));
  }
}

void RawClient::Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0) ThrowErrno("send");
    sent += static_cast<size_t>(n);
  }
}

bool RawClient::ReadMore() {
  pollfd waiting{socket_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, kPatienceMs) == 0) ThrowErrno(ETIMEDOUT, "wait for bytes");
  std::array<char, 65536> block{};
  const ssize_t n = ::recv(socket_.get(), block.data(), block.size(), 0);
  if (n > 0) received_.append(block.data(), static_cast<size_t>(n));
  return n > 0;  // a reset counts as an end
}

std::string RawClient::ReadToEnd() {
  while (ReadMore()) {
  }
  return std::exchange(received_, {});
}

std::string RawClient::ReadUntil(const std::string& text) {
  size_t at = 0;
  while ((at = received_.find(text)) == std::string::npos) {
    if (!ReadMore()) throw std::runtime_error("the end came before " + text);
  }
  std::string result = received_.substr(0, at + text.size());
  received_.erase(0, result.size());
  return result;
}

bool RawClient::IsQuiet() const {
  pollfd waiting{socket_.get(), POLLIN, 0};
  return received_.empty() && ::poll(&waiting, 1, 0) == 0;
}

std::string GetRequest(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
}

std::string Request(const std::string& method, const std::string& target,
                    const std::string& content_type, const std::string& body) {
  return method + " " + target +
         " HTTP/1.1\r\nHost: test\r\nUser-Agent: test/1\r\nContent-Type: " + content_type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         body;
}

RawAnswer Exchange(uint16_t port, const std::string& request) {
  RawClient client(port);
  client.Send(request);
  return ParseAnswer(client.ReadToEnd());
}

RawAnswer Get(uint16_t port, const std::string& target) {
  return Exchange(port, GetRequest(target));
}

}  // namespace kuryr::fake
