#include "kubelet/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "kubelet/poll_set.h"
#include "kubelet/server_connection.h"
#include "kubelet/unix_socket.h"

namespace kuryr::kubelet {

class Server::State {
 public:
  State(const std::string& socket, Methods methods, const ServerLimits& limits)
      : methods_(std::move(methods)), limits_(limits), listener_(ListenAt(socket)) {
    poll_.Add(listener_.fd.get(), EPOLLIN);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { listener_.file.Remove(); }

  [[nodiscard]] int fd() const noexcept { return poll_.fd(); }
  [[nodiscard]] const std::string& socket() const noexcept { return listener_.file.path; }
  [[nodiscard]] size_t connections() const noexcept { return connections_.size(); }

  void Advance() {
    for (const int fd : poll_.Ready()) {
      if (fd == listener_.fd.get()) {
        Accept();
      } else if (const auto found = connections_.find(fd);
                 found != connections_.end() && !found->second.Advance()) {
        connections_.erase(found);
      }
    }
    const auto now = ServerConnection::Clock::now();
    auto alarm = ServerConnection::Clock::time_point::max();
    for (auto next = connections_.begin(); next != connections_.end();) {
      const auto connection = next++;
      if (connection->second.Expire(now)) {
        alarm = std::min(alarm, connection->second.alarm());
      } else {
        connections_.erase(connection);
      }
    }
    poll_.SetAlarm(alarm);
  }

 private:
  /// Accepts one connection; a listener with more is ready again.
  void Accept() {
    UniqueFd peer(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer || connections_.size() >= limits_.connections) return;
    const int fd = peer.get();
    connections_.try_emplace(fd, std::move(peer), poll_, methods_, limits_);
  }

  const Methods methods_;
  const ServerLimits limits_;
  PollSet poll_;
  Listener listener_;
  std::map<int, ServerConnection> connections_;
};

Server::Server(const std::string& socket, Methods methods, const ServerLimits& limits)
    : state_(std::make_unique<State>(socket, std::move(methods), limits)) {}

Server::~Server() = default;

int Server::fd() const noexcept { return state_->fd(); }

void Server::Advance() { state_->Advance(); }

const std::string& Server::socket() const noexcept { return state_->socket(); }

size_t Server::connections() const noexcept { return state_->connections(); }

}  // namespace kuryr::kubelet
