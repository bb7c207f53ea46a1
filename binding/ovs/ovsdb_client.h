#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/deadline.h"
#include "binding/ovs/ovsdb_connections.h"

namespace kuryr::binding {

/// Open vSwitch refused or could not do something; what() has its own words. EIO for whoever looks
/// at the code only.
class OvsError : public std::system_error {
 public:
  explicit OvsError(const std::string& what)
      : std::system_error(std::make_error_code(std::errc::io_error)), text_(what) {}

  /// Its own words alone, without "Input/output error".
  [[nodiscard]] const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;
};

/// Why a transaction did nothing (RFC 7047 sections 3.1 and 4.1.3).
struct OvsdbFailure {
  size_t operation = 0;  ///< which of them; their number when it failed at the end
  std::string error;     ///< "constraint violation", "timed out"
  std::string details;

  [[nodiscard]] std::string ToString() const;
};

/// A client of the database Open_vSwitch (RFC 7047). Connects when first used, and again when the
/// server has closed the connection in the meantime. A connection refused or lost, a deadline or a
/// cancellation throw std::system_error that names the remote; a request is never sent twice, so
/// after ECONNRESET, ETIMEDOUT and ECANCELED the transaction may have been done. Not thread-safe,
/// and threads share nothing: one client each.
class OvsdbClient {
 public:
  /// unix:FILE, tcp:IP:PORT, ssl:IP:PORT (ovsdb(7)). The connection comes from `kept`, if it has
  /// one, and goes there.
  explicit OvsdbClient(std::string remote, OvsdbConnections* kept = nullptr);
  ~OvsdbClient();
  OvsdbClient(const OvsdbClient&) = delete;
  OvsdbClient& operator=(const OvsdbClient&) = delete;

  /// For ssl: remotes: PEM files of the whole process, read anew for every connection.
  static void UseTls(const std::string& private_key, const std::string& certificate,
                     const std::string& ca_certificate);

  /// What every request begins with; does nothing while the server is there.
  void Connect(const Deadline& deadline);

  /// All or nothing. The results, one per operation and one more when it failed at the end; what is
  /// neither a failure nor an answer to `operations` is an OvsError. `what` is for its text.
  [[nodiscard]] nlohmann::json Transact(const nlohmann::json& operations, const Deadline& deadline,
                                        const std::string& what = "transact");
  [[nodiscard]] static std::optional<OvsdbFailure> FailureIn(const nlohmann::json& results);

  /// Sends the rows that match `requests` now and whenever they change (monitor_cond,
  /// ovsdb-server(7)), until StopMonitor. One monitor at a time.
  [[nodiscard]] nlohmann::json StartMonitor(const nlohmann::json& requests,
                                            const Deadline& deadline);
  /// The next <table-updates2>.
  [[nodiscard]] nlohmann::json NextUpdate(const Deadline& deadline);
  void StopMonitor() noexcept;

 private:
  nlohmann::json Call(const char* method, const nlohmann::json& params, const Deadline& deadline,
                      const std::string& what);
  void RequireAnswers(const nlohmann::json& operations, const nlohmann::json& results,
                      const std::string& what) const;
  [[noreturn]] void Fail(int error, const std::string& action);
  [[nodiscard]] std::string MonitorId() const;

  std::string remote_;
  OvsdbConnections* kept_;
  OvsdbConnectionPtr connection_;
  uint64_t monitor_ = 0;
};

}  // namespace kuryr::binding
