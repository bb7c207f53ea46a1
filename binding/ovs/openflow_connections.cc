#include "binding/ovs/openflow_connections.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace kuryr::binding {
namespace {

/// The most that a burst leaves: each costs ovs-vswitchd a few kB and a descriptor.
constexpr size_t kMostKeptOfBridge = 4;

}  // namespace

void OpenFlowConnections::Prepare(const std::string& ovsdb_connection, const std::string& bridge,
                                  const Deadline& deadline) {
  try {
    auto connection = Take(bridge);
    if (!connection) connection = std::make_unique<OpenFlow>(ovsdb_connection, bridge, deadline);
    Keep(bridge, std::move(connection));
  } catch (const std::system_error& e) {
    Log(LogLevel::kDebug, "no connection for flows yet", {{"error", e.what()}});
  }
}

void OpenFlowConnections::Use(const std::string& ovsdb_connection, const std::string& bridge,
                              const Deadline& deadline, const Work& work) {
  if (auto idle = Take(bridge)) {
    try {
      work(*idle);
      Keep(bridge, std::move(idle));
      return;
    } catch (const std::system_error& e) {
      if (e.code().value() != ECONNRESET) throw;
    }
  }
  auto connection = std::make_unique<OpenFlow>(ovsdb_connection, bridge, deadline);
  work(*connection);
  Keep(bridge, std::move(connection));
}

std::unique_ptr<OpenFlow> OpenFlowConnections::Take(const std::string& bridge) {
  for (;;) {
    std::unique_ptr<OpenFlow> connection;
    {
      const MutexLock lock(mutex_);
      auto& idle = idle_[bridge];
      if (idle.empty()) return nullptr;
      connection = std::move(idle.back());
      idle.pop_back();
    }
    if (connection->Begin()) return connection;
  }
}

void OpenFlowConnections::Keep(const std::string& bridge, std::unique_ptr<OpenFlow> connection) {
  const MutexLock lock(mutex_);
  auto& idle = idle_[bridge];
  if (idle.size() < kMostKeptOfBridge) idle.push_back(std::move(connection));
}

}  // namespace kuryr::binding
