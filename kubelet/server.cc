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
    if (!peer) return;
    const pid_t process = ProcessAt(peer);
    if (HasMany(process) || !MakeRoom()) return;
    const int fd = peer.get();
    connections_.try_emplace(fd, std::move(peer), process, poll_, methods_, limits_);
  }

  /// 0: a process of a pid namespace that this one does not see.
  [[nodiscard]] static pid_t ProcessAt(const UniqueFd& peer) {
    ucred process{};
    socklen_t size = sizeof process;
    const int failed = ::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &process, &size);
    return failed == 0 ? process.pid : 0;
  }

  [[nodiscard]] bool HasMany(pid_t process) const {
    if (process == 0) return false;
    const auto its = std::count_if(connections_.begin(), connections_.end(), [&](const auto& one) {
      return one.second.process() == process;
    });
    return static_cast<size_t>(its) >= limits_.client_connections;
  }

  /// Closes the connection that has been longest without a call, if no place is free. False: all
  /// connections have calls.
  [[nodiscard]] bool MakeRoom() {
    if (connections_.size() < limits_.connections) return true;
    const auto idlest = std::min_element(
        connections_.begin(), connections_.end(), [](const auto& one, const auto& other) {
          return one.second.idle_since() < other.second.idle_since();
        });
    if (idlest->second.idle_since() == ServerConnection::Clock::time_point::max()) return false;
    connections_.erase(idlest);
    return true;
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
