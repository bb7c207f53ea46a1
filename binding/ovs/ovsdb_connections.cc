#include "binding/ovs/ovsdb_connections.h"

#include <utility>

#include "binding/ovs/ovsdb_shim.h"

namespace kuryr::binding {
namespace {

/// What a burst leaves: a session costs ovsdb-server a few kB and a descriptor.
constexpr size_t kMostKept = 8;

}  // namespace

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

}  // namespace kuryr::binding
