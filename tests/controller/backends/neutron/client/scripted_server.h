#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "tests/controller/backends/neutron/client/recorded.h"
#include "tests/fake_apiserver/server.h"

namespace kuryr::controller::neutron {

/// Answers each request, from whatever client, with the next scripted answer, and keeps the
/// requests. Thread-safe.
class ScriptedServer {
 public:
  /// Writes an answer. False: the connection closes.
  using Reply = std::function<bool(fake::Connection& connection)>;

  explicit ScriptedServer(const std::optional<fake::TlsFiles>& tls = {});

  [[nodiscard]] std::string url() const;
  void Script(Reply reply) EXCLUDES(mutex_);
  /// Scripts the recorded bytes.
  void Replay(const Recorded& recorded);
  void Replay(const std::string& name) { Replay(Load(name)); }
  /// Scripts an answer of that status and JSON.
  void Answer(int status, const std::string& body,
              const std::vector<std::pair<std::string, std::string>>& headers = {});
  /// Scripts the end of the connection in place of an answer.
  void HangUp();

  [[nodiscard]] std::vector<fake::HttpRequest> Requests() EXCLUDES(mutex_);
  [[nodiscard]] fake::Server& server() { return server_; }

 private:
  void Serve(fake::Connection& connection) EXCLUDES(mutex_);
  [[nodiscard]] Reply Next(const fake::HttpRequest& request) EXCLUDES(mutex_);

  const bool tls_;
  Mutex mutex_;
  std::deque<Reply> replies_ GUARDED_BY(mutex_);
  std::vector<fake::HttpRequest> requests_ GUARDED_BY(mutex_);
  fake::Server server_;  // last: its threads use all of the above
};

}  // namespace kuryr::controller::neutron
