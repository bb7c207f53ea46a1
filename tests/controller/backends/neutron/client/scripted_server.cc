#include "tests/controller/backends/neutron/client/scripted_server.h"

#include <utility>

namespace kuryr::controller::neutron {

ScriptedServer::ScriptedServer(const std::optional<fake::TlsFiles>& tls)
    : tls_(tls.has_value()),
      server_("127.0.0.1", 0, tls, [this](fake::Connection& connection) { Serve(connection); }) {}

std::string ScriptedServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server_.port());
}

void ScriptedServer::Script(Reply reply) {
  const MutexLock lock(mutex_);
  replies_.push_back(std::move(reply));
}

void ScriptedServer::Replay(const Recorded& recorded) {
  Script([wire = recorded.Wire()](fake::Connection& connection) { return connection.Write(wire); });
}

void ScriptedServer::Answer(int status, const std::string& body,
                            const std::vector<std::pair<std::string, std::string>>& headers) {
  Recorded recorded{.status = status, .reason = "As Scripted", .headers = headers, .answer = body};
  recorded.headers.emplace_back("Content-Length", std::to_string(body.size()));
  recorded.headers.emplace_back("Content-Type", "application/json");
  Replay(recorded);
}

void ScriptedServer::HangUp() {
  Script([](fake::Connection&) { return false; });
}

std::vector<fake::HttpRequest> ScriptedServer::Requests() {
  const MutexLock lock(mutex_);
  return requests_;
}

ScriptedServer::Reply ScriptedServer::Next(const fake::HttpRequest& request) {
  const MutexLock lock(mutex_);
  requests_.push_back(request);
  if (replies_.empty()) return [](fake::Connection&) { return false; };
  Reply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

void ScriptedServer::Serve(fake::Connection& connection) {
  while (const auto request = fake::ReadRequest(connection)) {
    if (!Next(*request)(connection)) return;
  }
}

}  // namespace kuryr::controller::neutron
