#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/event_fd.h"
#include "base/unique_fd.h"

namespace kuryr::binding {

/// Between clients and an ovsdb-server. When a request with `words` has been done, its answer is
/// lost with the connection, once.
class LosingProxy {
 public:
  LosingProxy(const std::string& server, std::string words)
      : server_(AddressOf(server)), words_(std::move(words)) {
    const sockaddr_un own = AddressOf(remote());
    ::unlink(own.sun_path);
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
        ::listen(listener_.get(), 8) != 0) {
      ThrowErrno("listen");
    }
    thread_ = std::jthread([this] { Serve(); });
  }
  ~LosingProxy() { over_.Set(); }
  LosingProxy(const LosingProxy&) = delete;
  LosingProxy& operator=(const LosingProxy&) = delete;

  [[nodiscard]] static std::string remote() { return "unix:/run/losing.sock"; }
  [[nodiscard]] bool has_lost() const { return has_lost_; }

 private:
  struct Session {
    UniqueFd client;
    UniqueFd server;
    bool loses = false;  ///< the next answer
    bool over = false;
  };

  static sockaddr_un AddressOf(const std::string& remote) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    remote.copy(address.sun_path, sizeof address.sun_path - 1, std::string("unix:").size());
    return address;
  }

  void Serve() {
    for (;;) {
      std::vector<pollfd> fds = {{.fd = over_.fd(), .events = POLLIN, .revents = 0},
                                 {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
      for (const Session& session : sessions_) {
        fds.push_back({.fd = session.client.get(), .events = POLLIN, .revents = 0});
        fds.push_back({.fd = session.server.get(), .events = POLLIN, .revents = 0});
      }
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0) return;
      size_t i = 2;
      for (Session& session : sessions_) {
        if (fds[i++].revents != 0) PassRequest(session);
        if (fds[i++].revents != 0) PassAnswer(session);
      }
      sessions_.remove_if([](const Session& session) { return session.over; });
      if (fds[1].revents != 0) Accept();
    }
  }
  void Accept() {
    Session session{.client = UniqueFd(::accept(listener_.get(), nullptr, nullptr)),
                    .server = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    const auto* address = reinterpret_cast<const sockaddr*>(&server_);
    if (::connect(session.server.get(), address, sizeof server_) != 0) return;
    sessions_.push_back(std::move(session));
  }
  void PassRequest(Session& session) {
    const std::string text = Pass(session, session.client.get(), session.server.get());
    if (!has_lost_ && text.find(words_) != std::string::npos) session.loses = true;
  }
  void PassAnswer(Session& session) {
    if (!session.loses) {
      Pass(session, session.server.get(), session.client.get());
      return;
    }
    has_lost_ = true;
    session.over = true;
  }
  static std::string Pass(Session& session, int from, int to) {
    std::array<char, 65536> text;
    const ssize_t count = ::recv(from, text.data(), text.size(), 0);
    if (count <= 0) {
      session.over = true;
      return "";
    }
    ::send(to, text.data(), static_cast<size_t>(count), MSG_NOSIGNAL);
    return {text.data(), static_cast<size_t>(count)};
  }

  const sockaddr_un server_;
  const std::string words_;
  UniqueFd listener_;
  EventFd over_;
  std::list<Session> sessions_;
  std::atomic<bool> has_lost_ = false;
  std::jthread thread_;
};

}  // namespace kuryr::binding
