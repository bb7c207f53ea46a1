#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct ovsdb_connection;

namespace kuryr::binding {

struct OvsdbConnectionCloser {
  void operator()(ovsdb_connection* connection) const noexcept;
};
using OvsdbConnectionPtr = std::unique_ptr<ovsdb_connection, OvsdbConnectionCloser>;

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

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<OvsdbConnectionPtr>> idle_;
};

}  // namespace kuryr::binding
