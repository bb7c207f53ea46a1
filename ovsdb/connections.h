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

/// Connections that nobody uses now, by their remote: an OvsdbClient that comes saves itself a new
/// one. At most a few are kept. Thread-safe.
class OvsdbConnections {
 public:
  /// One that the server has not closed; null where there is none.
  [[nodiscard]] OvsdbConnectionPtr Take(const std::string& remote);
  /// No request is under way on it.
  void Keep(const std::string& remote, OvsdbConnectionPtr connection);
  /// A request to the remote failed: its host may have gone without closing the others.
  void Drop(const std::string& remote);
  /// As WatchFolderOf; one that has noticed nothing yet is shared by all who wait: the kernel gives
  /// a user 128 of them.
  [[nodiscard]] std::shared_ptr<const FolderWatch> WatchFolder(const std::string& remote);

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<OvsdbConnectionPtr>> idle_;
  std::map<std::string, std::weak_ptr<const FolderWatch>> watches_;
};

}  // namespace kuryr
