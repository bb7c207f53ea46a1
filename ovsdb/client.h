#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "ovsdb/connections.h"
#include "ovsdb/database.h"
#include "ovsdb/error.h"
#include "ovsdb/server_outage.h"

namespace kuryr {

/// The reason why a transaction changed nothing (RFC 7047 sections 3.1 and 4.1.3).
struct OvsdbFailure {
  size_t operation = 0;  ///< which of them; their number when it failed at the end
  std::string error;     ///< "constraint violation", "timed out"
  std::string details;

  [[nodiscard]] std::string ToString() const;
};

/// A client of one database (RFC 7047). Connects when first used, and again if the server has
/// closed the connection. Throws std::system_error that names the remote when a connection is
/// refused or lost (OvsdbConnectionLost), and for a deadline or a cancellation. It sends a request
/// only once. So after a loss, ETIMEDOUT or ECANCELED the server may have done the transaction. Not
/// thread-safe: each thread has its own client.
///
/// With patience the client waits for a server that is down, in each outage at most that long. Then
/// it throws OvsdbAway. An outage ends with the first answer.
class OvsdbClient {
 public:
  /// unix:FILE, tcp:IP:PORT, ssl:IP:PORT (ovsdb(7)). The client takes its connection from `kept` if
  /// it has one, and returns it there. `database` is borrowed.
  OvsdbClient(const OvsdbDatabase& database, std::string remote, OvsdbConnections* kept = nullptr,
              Deadline::Clock::duration patience = {});
  ~OvsdbClient();
  OvsdbClient(const OvsdbClient&) = delete;
  OvsdbClient& operator=(const OvsdbClient&) = delete;

  /// Sets the PEM files for ssl: remotes, for the whole process. They are read again for every
  /// connection.
  static void UseTls(const std::string& private_key, const std::string& certificate,
                     const std::string& ca_certificate);

  /// Connects if there is no connection; every request calls it first.
  void Connect(const Deadline& deadline);

  /// Repeats `action` after each loss of the connection, when the server is back. `action` must be
  /// safe to repeat. Without patience it repeats once, and only where a kept connection was lost
  /// before its first answer: the server may have been about to close it.
  template <typename Action>
  auto Insist(const Deadline& deadline, const Action& action) {
    for (int losses = 0;; ++losses) {
      try {
        return action();
      } catch (const OvsdbConnectionLost& e) {
        const bool is_repeatable = IsPatient() || (is_unproven_ && losses == 0);
        if (!is_repeatable || losses == kMostLosses) throw;
        if (IsPatient()) AwaitServer(e.code().value(), deadline);
      }
    }
  }

  /// Does all operations or none. Returns one result per operation, and one more if the transaction
  /// failed at the end. Throws OvsError, with `what` in its text, for an answer that does not fit
  /// `operations`.
  [[nodiscard]] nlohmann::json Transact(const nlohmann::json& operations, const Deadline& deadline,
                                        const std::string& what = "transact");
  /// As Transact, but also throws OvsError for a failed transaction.
  nlohmann::json TransactOrThrow(const nlohmann::json& operations, const Deadline& deadline,
                                 const std::string& what);
  [[nodiscard]] static std::optional<OvsdbFailure> FailureIn(const nlohmann::json& results);

  /// Sends the rows that match `requests` now and whenever they change (monitor_cond,
  /// ovsdb-server(7)), until StopMonitor. One monitor at a time. It ends with its connection: the
  /// next call of any kind throws OvsdbConnectionLost. Throws OvsError for an answer that is no
  /// <table-updates2>.
  [[nodiscard]] nlohmann::json StartMonitor(const nlohmann::json& requests,
                                            const Deadline& deadline);
  /// The next <table-updates2>.
  [[nodiscard]] nlohmann::json NextUpdate(const Deadline& deadline);
  void StopMonitor() noexcept;

 private:
  /// A server that ends at each repetition of a request gets it at most this many times.
  static constexpr int kMostLosses = 4;

  [[nodiscard]] bool IsPatient() const noexcept { return patience_.count() > 0; }
  void AwaitServer(int error, const Deadline& deadline);
  nlohmann::json Call(const char* method, const nlohmann::json& params, const Deadline& deadline,
                      const std::string& what);
  [[noreturn]] void FailForm(const nlohmann::json& answer, const std::string& what) const;
  [[nodiscard]] nlohmann::json Updates(nlohmann::json updates) const;
  void Forget(int error);
  [[noreturn]] void FailConnect(int error);
  [[noreturn]] void FailRequest(int error, const std::string& action);

  const OvsdbDatabase& database_;
  std::string remote_;
  OvsdbConnections* kept_;
  Deadline::Clock::duration patience_;
  OvsdbConnectionPtr connection_;
  bool is_unproven_ = false;  ///< the connection was kept, and nothing has come by it since
  std::optional<ServerOutage> outage_;
  std::string monitor_;  ///< its id on connection_; empty when there is none
};

}  // namespace kuryr
