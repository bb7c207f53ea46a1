#pragma once

#include <gmock/gmock.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/netns_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::controller::ovn {

/// A real ovsdb-server with OVN's northbound database, which ovn-nbctl reads and changes.
class NorthboundTest : public test::NetnsTest {
 protected:
  void SetUp() override;

  /// Replaces the database by an empty one. One with a limit takes that many ACLs at most (maxRows
  /// of RFC 7047, 3.2).
  void ReplaceDatabase(std::optional<int> most_acls = std::nullopt);
  static std::string remote() { return "unix:/run/nb.sock"; }
  void StartServer();
  void StopServer();
  [[nodiscard]] test::Process& server() { return *server_; }

  /// A Raft cluster of three servers, of which the first leads; for Northbound and ovn-nbctl. A
  /// server is killed by its end.
  class Cluster {
   public:
    static constexpr size_t kServers = 3;

    Cluster();
    /// Between commas.
    [[nodiscard]] static std::string remotes();
    void Kill(size_t server) { servers_.at(server).reset(); }
    void Start(size_t server);
    /// Returns once the running server follows or leads.
    static void AwaitMember(size_t server);
    void Signal(size_t server, int signal) { servers_.at(server)->Signal(signal); }
    /// nullopt: no server leads at this moment.
    [[nodiscard]] std::optional<size_t> FindLeader() const;

   private:
    std::vector<std::optional<test::Process>> servers_{kServers};
  };

  /// The database that ovn-nbctl reads and changes: at first the single server's.
  static inline std::string nbctl_db_;
  /// Runs ovn-nbctl; returns its stdout without the last newline.
  static std::string Nbctl(std::vector<std::string> arguments);
  /// A column of the rows of a table, one line a row, sorted; `condition` as ovn-nbctl find has it.
  static std::vector<std::string> Column(const std::string& table, const std::string& column,
                                         const std::string& condition = "");

  /// Something has happened that a test may wait for.
  void Tell();
  /// Waits until the condition holds. It is asked again after each Tell, and now and then, because
  /// changes of the database tell nobody here.
  bool Await(const std::function<bool()>& condition);

 private:
  std::optional<test::Process> server_;
  std::mutex mutex_;
  std::condition_variable told_;
  unsigned tells_ = 0;
};

}  // namespace kuryr::controller::ovn
