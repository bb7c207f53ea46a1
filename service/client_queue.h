#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "base/thread_annotations.h"
#include "base/unique_fd.h"
#include "service/timed_stream.h"

namespace kuryr::service {

/// A queue of connections that wait for a thread. Serves two connections of one client at a time
/// and holds at most 16, so that other clients need not wait. Thread-safe.
class ClientQueue {
 public:
  struct Connection {
    std::string client;
    UniqueFd socket;
    std::unique_ptr<TimedStream> stream;  ///< borrows the socket
  };

  /// Adds a connection, or closes it if its client (16) or all clients together (128) have too
  /// many.
  void Add(Connection connection) EXCLUDES(mutex_);
  /// Returns the oldest connection whose client may be served; it has no stream when stopped. The
  /// caller calls End() with its client.
  [[nodiscard]] Connection Next(const std::stop_token& stop) EXCLUDES(mutex_);
  void End(const std::string& client) EXCLUDES(mutex_);

 private:
  static constexpr size_t kMostServed = 2;
  static constexpr size_t kMostHeld = 16;
  static constexpr size_t kMostWaiting = 128;

  struct Share {
    size_t held = 0;  ///< served or waiting
    size_t served = 0;
  };

  [[nodiscard]] std::list<Connection>::iterator FindNext() REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Connection> waiting_ GUARDED_BY(mutex_);
  std::map<std::string, Share> shares_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::service
