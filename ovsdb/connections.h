#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/folder_watch.h"

struct ovsdb_connection;

namespace kuryr {

struct OvsdbConnectionCloser {
  void operator()(ovsdb_connection* connection) const noexcept;
};
using OvsdbConnectionPtr = std::unique_ptr<ovsdb_connection, OvsdbConnectionCloser>;

/// A new watch of the folder of a remote's socket; null for remotes without one.
[[nodiscard]] std::shared_ptr<const FolderWatch> WatchFolderOf(const std::string& remote);

/// Idle connections by remote, so that a new OvsdbClient need not connect. Keeps at most a few.
/// Thread-safe.
class OvsdbConnections {
 public:
  /// Takes a connection that the server has not closed; null if there is none.
  [[nodiscard]] OvsdbConnectionPtr Take(const std::string& remote);
  /// Keeps `connection`, on which no request is under way.
  void Keep(const std::string& remote, OvsdbConnectionPtr connection);
  /// Drops the remote's connections after a failed request: its host may have gone without closing
  /// them.
  void Drop(const std::string& remote);
  /// As WatchFolderOf, but all waiting callers share a watch that has not noticed a file yet: the
  /// kernel gives a user 128 watches.
  [[nodiscard]] std::shared_ptr<const FolderWatch> WatchFolder(const std::string& remote);

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<OvsdbConnectionPtr>> idle_;
  std::map<std::string, std::weak_ptr<const FolderWatch>> watches_;
};

}  // namespace kuryr
