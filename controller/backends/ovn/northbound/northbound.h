#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_annotations.h"
#include "base/unique_fd.h"
#include "controller/backends/ovn/northbound/row_keeper.h"
#include "controller/backends/ovn/northbound/wanted_row.h"
#include "ovsdb/replica.h"
#include "service/metrics_text.h"

namespace kuryr::controller::ovn {

/// The cluster's rows in OVN's northbound database (ovn-nb(5)). A thread follows these rows and,
/// from Begin on, writes those that differ: all that differ at one time in one transaction.
/// Thread-safe.
class Northbound {
 public:
  struct Hooks {
    /// While false, the thread writes nothing.
    std::function<bool()> may_write;
    /// These rows are settled, or have failed. Called by the thread, without a lock.
    std::function<void(const std::vector<RowKey>& keys)> told;
  };
  struct Parts {
    std::string remotes;  ///< ovsdb(7), with commas between the servers of a cluster
    std::string cluster;  ///< external_ids:kuryr-cluster
    Hooks hooks;
    std::chrono::milliseconds retry_least{500};
    std::chrono::milliseconds retry_most{60'000};
    /// How long rows that nobody wants stay after Begin.
    std::chrono::milliseconds grace = std::chrono::minutes(1);
  };

  explicit Northbound(Parts parts);
  ~Northbound();
  Northbound(const Northbound&) = delete;
  Northbound& operator=(const Northbound&) = delete;

  /// All owners are known. Has the thread write what is wanted, and delete rows that no call of
  /// Want has: the chosen ones at once, others after the grace. Called once.
  void Begin(RowKeeper::Choice at_once) EXCLUDES(mutex_);

  /// Has the thread write the rows, and delete those of `dropped`. Hundreds of rows may change in
  /// one transaction.
  void Want(std::vector<WantedRow> rows, const std::vector<RowKey>& dropped = {}) EXCLUDES(mutex_);
  /// As Want, and rows that are not in the database yet go before all others: an owner waits for
  /// them.
  void WantFirst(std::vector<WantedRow> rows, const std::vector<RowKey>& dropped) EXCLUDES(mutex_);
  /// As Want, with all of these rows in one transaction, however many they are.
  void WantTogether(std::vector<WantedRow> rows, const std::vector<RowKey>& dropped)
      EXCLUDES(mutex_);
  /// As Want, and has the thread delete all other rows whose keys begin with one of `prefixes`.
  void Replace(const std::vector<RowKey>& prefixes, std::vector<WantedRow> rows) EXCLUDES(mutex_);
  void Drop(const std::vector<RowKey>& keys) EXCLUDES(mutex_);

  /// Writes the router's row, which names the Kubernetes cluster by its UID. Nothing is written
  /// while the row in the database names another one.
  void Claim(WantedRow router, const std::string& uid) EXCLUDES(mutex_);

  struct State {
    bool settled = false;
    std::string failure;  ///< why a row could not be written, or the database not be reached
  };
  /// The state of all these rows together.
  [[nodiscard]] State StateOf(const std::vector<RowKey>& keys) const EXCLUDES(mutex_);

  /// Why one of these rows is not kept: the database refuses it, or others always change it.
  [[nodiscard]] std::optional<std::string> RefusalOf(const std::vector<RowKey>& keys) const
      EXCLUDES(mutex_);

  /// Whether the database is connected, and no other Kubernetes cluster has the rows there.
  [[nodiscard]] bool HasOurRows() const EXCLUDES(mutex_);

  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  struct Counts {
    uint64_t transactions = 0;
    uint64_t failures = 0;
    uint64_t operations = 0;
    uint64_t bytes = 0;
  };

  void Work(const std::stop_token& stop);
  Clock::time_point Send() EXCLUDES(mutex_);
  [[nodiscard]] std::vector<RowKey> SendBatch() REQUIRES(mutex_);
  [[nodiscard]] bool Connected() REQUIRES(mutex_);
  [[nodiscard]] std::vector<RowKey> WhenUnreachable() REQUIRES(mutex_);
  void Transact(RowKeeper::Batch batch) REQUIRES(mutex_);
  void OnAnswer(const nlohmann::json& results) EXCLUDES(mutex_);
  void OnLost() EXCLUDES(mutex_);
  void Wake() const;
  [[nodiscard]] Clock::time_point NextWork() const REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::string> RefusalOf(const RowKey& key) const REQUIRES(mutex_);
  [[nodiscard]] std::string WhyUnreachable() const REQUIRES(mutex_);
  /// Looks whether another cluster has the rows. Returns the rows to tell of if that is new.
  [[nodiscard]] std::vector<RowKey> LookForRival() REQUIRES(mutex_);

  const Parts parts_;
  const UniqueFd wake_;  ///< an eventfd: there is work for the thread
  mutable Mutex mutex_;
  RowKeeper keeper_ GUARDED_BY(mutex_);
  Counts counts_ GUARDED_BY(mutex_);
  bool ready_ GUARDED_BY(mutex_) = false;  ///< connected, and the replica has been whole since
  std::string last_error_ GUARDED_BY(mutex_);
  std::string uid_ GUARDED_BY(mutex_);    ///< empty: no call of Claim yet
  std::string rival_ GUARDED_BY(mutex_);  ///< the UID of another cluster that has the rows
  std::optional<Clock::time_point> drop_all_at_ GUARDED_BY(mutex_);  ///< nullopt: not begun
  bool drops_all_ GUARDED_BY(mutex_) = false;                ///< rows that nobody has asked for
  std::optional<RowKeeper::Batch> sent_ GUARDED_BY(mutex_);  ///< without an answer yet
  OvsdbReplica replica_;                                     ///< the thread's
  std::jthread thread_;
};

}  // namespace kuryr::controller::ovn
