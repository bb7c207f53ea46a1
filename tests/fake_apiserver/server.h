#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/connection.h"
#include "tests/fake_apiserver/socket.h"
#include "tests/fake_apiserver/tls.h"

namespace kuryr::fake {

/// Accepts connections on a port and gives each a thread of its own, since watches are many and
/// long. Thread-safe; a connection's thread may call every method.
class Server {
 public:
  /// Serves one connection; returning closes it. Must not throw.
  using Handler = std::function<void(Connection&)>;

  /// Listens when the constructor returns. `handler` is called until the destructor returns. Throws
  /// std::system_error, or std::runtime_error for unusable TLS files.
  Server(const std::string& address, uint16_t port, const std::optional<TlsFiles>& tls,
         Handler handler);
  /// Drops all connections and waits for their threads.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] uint16_t port() const noexcept { return port_; }

  /// Refuses new connections, and drops the open ones as a killed server does; after `time`, if
  /// given, listens again. The port stays reserved.
  void StopListening(std::optional<std::chrono::milliseconds> time = {}) EXCLUDES(mutex_);
  void StartListening() EXCLUDES(mutex_);
  /// The next `count` connections are accepted and then left alone: no TLS handshake, no answer.
  void HangConnections(int count) EXCLUDES(mutex_);

 private:
  struct Worker {
    std::thread thread;
    std::shared_ptr<Signal> done = std::make_shared<Signal>();
  };

  void AcceptLoop();
  void AcceptAll() EXCLUDES(mutex_);
  void Serve(UniqueFd socket, const Signal& stop, bool hang) const;
  void ReapWorkers();

  const SslContextPtr tls_;
  const Handler handler_;
  const Signal stopping_;
  const Signal changed_;
  Mutex mutex_;
  Listener listener_ GUARDED_BY(mutex_);
  const uint16_t port_;
  std::shared_ptr<Signal> drop_ GUARDED_BY(mutex_) = std::make_shared<Signal>();
  std::optional<Connection::Clock::time_point> listen_again_ GUARDED_BY(mutex_);
  int hang_ GUARDED_BY(mutex_) = 0;
  std::list<Worker> workers_;  // belongs to the accepting thread, then to the destructor
  std::thread acceptor_;
};

}  // namespace kuryr::fake
