#include "ovsdb/connections.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "ovsdb/shim.h"

namespace kuryr {
namespace {

/// The most idle connections kept after a burst: each costs ovsdb-server a few kB and a descriptor.
constexpr size_t kMostKept = 8;

}  // namespace

std::shared_ptr<const FolderWatch> WatchFolderOf(const std::string& remote) {
  constexpr std::string_view kUnix = "unix:";
  if (!remote.starts_with(kUnix)) return nullptr;
  const std::filesystem::path socket = remote.substr(kUnix.size());
  return std::make_shared<const FolderWatch>(socket.parent_path());
}

void OvsdbConnectionCloser::operator()(ovsdb_connection* connection) const noexcept {
  ovsdb_close(connection);
}

OvsdbConnectionPtr OvsdbConnections::Take(const std::string& remote) {
  for (;;) {
    OvsdbConnectionPtr connection;
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[remote];
      if (idle.empty()) return nullptr;
      connection = std::move(idle.back());
      idle.pop_back();
    }
    if (ovsdb_refresh(connection.get()) == 0) return connection;
  }
}

void OvsdbConnections::Keep(const std::string& remote, OvsdbConnectionPtr connection) {
  const std::lock_guard lock(mutex_);
  auto& idle = idle_[remote];
  if (idle.size() < kMostKept) idle.push_back(std::move(connection));
}

void OvsdbConnections::Drop(const std::string& remote) {
  const std::lock_guard lock(mutex_);
  idle_.erase(remote);
}

std::shared_ptr<const FolderWatch> OvsdbConnections::WatchFolder(const std::string& remote) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const FolderWatch> watch = watches_[remote].lock();
  if (watch && !watch->HasNoticed()) return watch;
  watch = WatchFolderOf(remote);
  watches_[remote] = watch;
  return watch;
}

}  // namespace kuryr
