#pragma once

#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/folder_watch.h"
#include "base/socket_watch.h"

namespace kuryr {

class OvsdbConnections;

/// An ovsdb-server that is down: since when, how long it is waited for, and when to try again. Not
/// thread-safe.
class ServerOutage {
 public:
  /// Logs that the wait begins. `kept` may be null: its watch of the folder is shared.
  ServerOutage(const std::string& remote, int error, Deadline::Clock::duration patience,
               OvsdbConnections* kept);

  /// Call it before each try.
  void Begin();
  /// As SocketWatch::Wait; also false when patience is over.
  [[nodiscard]] bool Wait(const Deadline& deadline);
  /// The text of an error after the last try, which ended with `error`.
  [[nodiscard]] std::string Describe(int error) const;

 private:
  const std::string remote_;
  OvsdbConnections* const kept_;
  SocketWatch watch_;
  const Deadline::Clock::time_point begin_ = Deadline::Clock::now();
  const Deadline::Clock::time_point end_;
};

}  // namespace kuryr
