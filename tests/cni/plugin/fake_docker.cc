#include "tests/cni/plugin/fake_docker.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"

namespace kuryr::test {
namespace {

std::string Answer(const std::string& status, const nlohmann::json& body) {
  const std::string text = body.dump();
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(text.size()) +
         "\r\nConnection: close\r\n\r\n" + text;
}

/// To the end of its head; a GET has no body.
std::string ReadRequest(int socket) {
  std::string request;
  std::array<char, 4096> buffer{};
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (size <= 0) break;
    request.append(buffer.data(), static_cast<size_t>(size));
  }
  return request;
}

}  // namespace

FakeDocker::FakeDocker(const std::string& socket, std::map<std::string, pid_t> containers)
    : containers_(std::move(containers)),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 5) != 0)
    ThrowErrno("listen on " + socket);
  thread_ = std::thread([this] { Serve(); });
}

FakeDocker::~FakeDocker() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

void FakeDocker::Serve() {
  while (true) {
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;
    const std::string answer = AnswerTo(ReadRequest(connection.get()));
    (void)::send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

std::string FakeDocker::AnswerTo(const std::string& request) const {
  // Go's HTTP server lets no slash into it.
  std::istringstream head(request.substr(request.find("\r\nHost: ") + 8));
  std::string host;
  std::getline(head, host, '\r');
  if (host.empty() || host.find('/') != std::string::npos)
    return Answer("400 Bad Request", "malformed Host header");
  for (const auto& [id, pid] : containers_) {
    if (!request.starts_with("GET /containers/" + id + "/json ")) continue;
    return Answer("200 OK",
                  {{"Id", id}, {"State", {{"Status", "running"}, {"Pid", pid}, {"ExitCode", 0}}}});
  }
  return Answer("404 Not Found", {{"message", "No such container"}});
}

}  // namespace kuryr::test
