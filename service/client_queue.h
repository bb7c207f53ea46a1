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

/// Connections that wait for a thread. However many one client opens, it is served two at a time,
/// and holds 16: the next client need not wait for it. Thread-safe.
class ClientQueue {
 public:
  struct Connection {
    std::string client;
    UniqueFd socket;
    std::unique_ptr<TimedStream> stream;  ///< borrows the socket
  };

  /// Closes it where its client, or all together (128), hold as many as they may.
  void Add(Connection connection) EXCLUDES(mutex_);
  /// The oldest whose client may be served; without a stream when stopped. Whoever has it calls
  /// End() with its client.
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
