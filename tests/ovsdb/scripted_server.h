#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr {

/// A server that runs a test's script for each of its first clients, one after the other.
class ScriptedServer {
 public:
  explicit ScriptedServer(const std::function<void(int client)>& script, int clients = 1) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/run/scripted.sock"};
    ::unlink(address.sun_path);
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 1) != 0) {
      ThrowErrno("listen");
    }
    thread_ = std::jthread([this, script, clients] {
      for (int i = 0; i < clients; ++i) {
        const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
        if (!client) return;
        script(client.get());
      }
    });
  }
  /// Does not wait for clients that have not come.
  ~ScriptedServer() { ::shutdown(listener_.get(), SHUT_RDWR); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  static std::string Receive(int client) {
    std::array<char, 4096> text;
    const ssize_t count = ::recv(client, text.data(), text.size(), 0);
    return count > 0 ? std::string(text.data(), static_cast<size_t>(count)) : "";
  }
  static void Send(int client, const std::string& text) {
    ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
  }

  [[nodiscard]] static std::string remote() { return "unix:/run/scripted.sock"; }

 private:
  UniqueFd listener_;
  std::jthread thread_;
};

}  // namespace kuryr
