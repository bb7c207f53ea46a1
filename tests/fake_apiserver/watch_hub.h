#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/socket.h"

namespace kuryr::fake {

/// A test's command to all open watches.
struct WatchCommand {
  enum class Kind {
    kSend,      // puts `text` into the stream as it is
    kBookmark,  // sends a BOOKMARK where the client allows them
    kEnd,       // ends the stream in order, with the last chunk
    kDrop,      // closes the connection, without the last chunk
  };
  Kind kind = Kind::kEnd;
  std::string text;
  /// The store's changes up to this version are sent before.
  uint64_t version = 0;
};

class WatchHub;

/// An open watch; it is registered while it lives. Thread-safe.
class OpenWatch {
 public:
  explicit OpenWatch(WatchHub& hub);
  ~OpenWatch();
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;

  /// Counts the watch as ready: its client has the head of the answer and the present state.
  void MarkReady();
  /// Set when there is a change in the store or a command to take.
  [[nodiscard]] const Signal& signal() const noexcept { return signal_; }
  /// Takes the commands, and clears the signal.
  [[nodiscard]] std::vector<WatchCommand> TakeCommands() EXCLUDES(mutex_);

 private:
  friend class WatchHub;

  WatchHub& hub_;
  const Signal signal_;
  Mutex mutex_;
  std::vector<WatchCommand> commands_ GUARDED_BY(mutex_);
};

/// All open watches. Thread-safe.
class WatchHub {
 public:
  void NotifyAll() EXCLUDES(mutex_);
  void CommandAll(const WatchCommand& command) EXCLUDES(mutex_);
  /// Waits until exactly `count` watches are ready. False when `timeout` passes first.
  [[nodiscard]] bool WaitForCount(size_t count, std::chrono::milliseconds timeout) EXCLUDES(mutex_);

 private:
  friend class OpenWatch;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::set<OpenWatch*> watches_ GUARDED_BY(mutex_);
  std::set<OpenWatch*> ready_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::fake
