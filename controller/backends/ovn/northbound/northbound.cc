#include "controller/backends/ovn/northbound/northbound.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "controller/backends/ovn/northbound/schema.h"
#include "ovsdb/client.h"

namespace kuryr::controller::ovn {
namespace {

/// So that one transaction keeps the server, and this process, from others for milliseconds only.
constexpr RowKeeper::Limits kMostOfBatch = {.rows = 500, .bytes = size_t{4} << 20};
/// No event says that writing is allowed again.
constexpr std::chrono::seconds kMayWriteAgain{1};

UniqueFd NewEventFd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) ThrowErrno("eventfd");
  return fd;
}

}  // namespace

Northbound::Northbound(Parts parts)
    : parts_(std::move(parts)),
      wake_(NewEventFd()),
      keeper_({.cluster = parts_.cluster,
               .reference_columns = ReferenceColumns(),
               .link_columns = {"load_balancer_group"},
               .named_tables = {kLoadBalancerGroup}},
              parts_.retry_least, parts_.retry_most),
      replica_(kNorthboundName, parts_.remotes, NorthboundTables(parts_.cluster),
               {.changed =
                    [this](const std::string& table, const std::string& uuid,
                           const OvsdbRow* before, const OvsdbRow* row) {
                      const MutexLock lock(mutex_);
                      keeper_.OnRow(table, uuid, before, row);
                    },
                .answered = [this](const nlohmann::json& results) { OnAnswer(results); },
                .lost = [this] { OnLost(); }}),
      thread_([this](const std::stop_token& stop) { Work(stop); }) {}

Northbound::~Northbound() {
  thread_.request_stop();
  Wake();
}

void Northbound::Wake() const { ::eventfd_write(wake_.get(), 1); }

void Northbound::Begin(RowKeeper::Choice at_once) {
  {
    const MutexLock lock(mutex_);
    drop_all_at_ = Clock::now() + parts_.grace;
    keeper_.DropUnknown(std::move(at_once));
  }
  Wake();
}

void Northbound::Want(std::vector<WantedRow> rows, const std::vector<RowKey>& dropped) {
  {
    const MutexLock lock(mutex_);
    for (WantedRow& row : rows) keeper_.Want(std::move(row));
    for (const RowKey& key : dropped) keeper_.Drop(key);
  }
  Wake();
}

void Northbound::WantFirst(std::vector<WantedRow> rows, const std::vector<RowKey>& dropped) {
  {
    const MutexLock lock(mutex_);
    for (WantedRow& row : rows) keeper_.WantFirst(std::move(row));
    for (const RowKey& key : dropped) keeper_.Drop(key);
  }
  Wake();
}

void Northbound::Claim(WantedRow router, const std::string& uid) {
  {
    const MutexLock lock(mutex_);
    uid_ = uid;
    keeper_.Want(std::move(router));
  }
  Wake();
}

void Northbound::WantTogether(std::vector<WantedRow> rows, const std::vector<RowKey>& dropped) {
  {
    const MutexLock lock(mutex_);
    for (WantedRow& row : rows) keeper_.Want(std::move(row));
    for (const RowKey& key : dropped) keeper_.Drop(key);
    keeper_.KeepTogether();
  }
  Wake();
}

void Northbound::Replace(const std::vector<RowKey>& prefixes, std::vector<WantedRow> rows) {
  {
    const MutexLock lock(mutex_);
    std::set<RowKey> others;
    for (const RowKey& prefix : prefixes) others.merge(keeper_.KeysUnder(prefix));
    for (WantedRow& row : rows) {
      others.erase(row.key);
      keeper_.Want(std::move(row));
    }
    for (const RowKey& key : others) keeper_.Drop(key);
  }
  Wake();
}

void Northbound::Drop(const std::vector<RowKey>& keys) {
  {
    const MutexLock lock(mutex_);
    for (const RowKey& key : keys) keeper_.Drop(key);
  }
  Wake();
}

Northbound::State Northbound::StateOf(const std::vector<RowKey>& keys) const {
  const MutexLock lock(mutex_);
  State state{.settled = true};
  for (const RowKey& key : keys) {
    if (auto refusal = RefusalOf(key)) state.failure = std::move(*refusal);
    state.settled = state.settled && keeper_.IsSettled(key);
  }
  if (!state.settled && state.failure.empty()) state.failure = WhyUnreachable();
  return state;
}

std::optional<std::string> Northbound::RefusalOf(const std::vector<RowKey>& keys) const {
  const MutexLock lock(mutex_);
  for (const RowKey& key : keys) {
    if (auto refusal = RefusalOf(key)) return refusal;
  }
  return std::nullopt;
}

std::optional<std::string> Northbound::RefusalOf(const RowKey& key) const {
  const auto why = keeper_.FailureOf(key);
  if (!why) return std::nullopt;
  return "row " + key.name + " of " + key.table + ": " + *why;
}

std::string Northbound::WhyUnreachable() const {
  if (!rival_.empty())
    return "another Kubernetes cluster, whose namespace kube-system has UID " + rival_ +
           ", has the rows of [ovn] cluster = " + parts_.cluster +
           ": give this cluster another name there. If the other one is gone, run: ovn-nbctl "
           "remove Logical_Router " +
           parts_.cluster + " external_ids " + kClusterUid;
  if (ready_ || last_error_.empty()) return "";
  return "the northbound database at " + parts_.remotes + " does not answer: " + last_error_;
}

bool Northbound::HasOurRows() const {
  const MutexLock lock(mutex_);
  return ready_ && rival_.empty();
}

void Northbound::Work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Clock::time_point next = Send();
    eventfd_t ignored = 0;
    try {
      if (!replica_.Next({.at = next, .cancel_fd = wake_.get()}))
        ::eventfd_read(wake_.get(), &ignored);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "northbound database", {{"error", e.what()}});
      const MutexLock lock(mutex_);
      last_error_ = e.what();
    }
  }
}

/// Sends what differs, where the replica is whole and nothing is under way. Returns when there is
/// more to do without news.
Northbound::Clock::time_point Northbound::Send() {
  const bool may_write = !parts_.hooks.may_write || parts_.hooks.may_write();
  Clock::time_point next = Clock::time_point::max();
  std::vector<RowKey> tell;
  {
    const MutexLock lock(mutex_);
    if (!Connected()) {
      tell = WhenUnreachable();
    } else if (tell = LookForRival(); drop_all_at_ && rival_.empty() && !sent_) {
      if (may_write) tell = SendBatch();
      if (!sent_) next = may_write ? NextWork() : Clock::now() + kMayWriteAgain;
    }
  }
  if (!tell.empty()) parts_.hooks.told(tell);
  return next;
}

/// Returns the rows to tell of.
std::vector<RowKey> Northbound::SendBatch() {
  const Clock::time_point now = Clock::now();
  if (now >= *drop_all_at_ && !std::exchange(drops_all_, true))
    keeper_.DropUnknown([](const RowKey&) { return true; });
  RowKeeper::Batch batch = keeper_.Compose(replica_, kMostOfBatch, now);
  std::vector<RowKey> told = std::move(batch.told);
  if (!batch.empty()) Transact(std::move(batch));
  return told;
}

Northbound::Clock::time_point Northbound::NextWork() const {
  Clock::time_point next = keeper_.NextTry().value_or(Clock::time_point::max());
  if (!drops_all_) next = std::min(next, *drop_all_at_);
  return next;
}

std::vector<RowKey> Northbound::LookForRival() {
  const auto found =
      uid_.empty() ? std::nullopt : keeper_.IdIn(replica_, {kRouter, "router"}, kClusterUid);
  const std::string rival = found && *found != uid_ ? *found : "";
  if (std::exchange(rival_, rival) == rival || rival.empty()) return {};
  Log(LogLevel::kError, "nothing is written to the northbound database",
      {{"reason", WhyUnreachable()}});
  return keeper_.Unsettled();
}

bool Northbound::Connected() {
  if (!replica_.IsReady()) return false;
  if (std::exchange(ready_, true)) return true;
  last_error_.clear();
  Log(LogLevel::kInfo, "northbound database connected", {{"remotes", parts_.remotes}});
  return true;
}

/// The rows that wait for the server, once it is known why.
std::vector<RowKey> Northbound::WhenUnreachable() {
  if (ready_) return {};
  std::string error = replica_.LastError();
  if (error.empty() || !std::exchange(last_error_, std::move(error)).empty()) return {};
  return keeper_.Unsettled();
}

void Northbound::Transact(RowKeeper::Batch batch) {
  ++counts_.transactions;
  counts_.operations += batch.operations.size();
  if (const size_t bytes = replica_.Transact(batch.operations)) {
    counts_.bytes += bytes;
    sent_ = std::move(batch);
  } else {
    keeper_.OnLost(batch);
  }
}

void Northbound::OnAnswer(const nlohmann::json& results) {
  std::vector<RowKey> failed;
  {
    const MutexLock lock(mutex_);
    if (!sent_) return;
    const RowKeeper::Batch batch = std::move(*sent_);
    sent_.reset();
    const auto failure = OvsdbClient::FailureIn(results);
    if (!failure) return keeper_.OnDone(batch, Clock::now());
    ++counts_.failures;
    failed = keeper_.OnFailed(batch, failure->ToString(), Clock::now());
  }
  for (const RowKey& key : failed)
    Log(LogLevel::kWarning, "row not written", {{"table", key.table}, {"row", key.name}});
  if (!failed.empty()) parts_.hooks.told(failed);
}

void Northbound::OnLost() {
  const MutexLock lock(mutex_);
  if (std::exchange(ready_, false))
    Log(LogLevel::kWarning, "northbound database lost", {{"remotes", parts_.remotes}});
  if (!sent_) return;
  keeper_.OnLost(*sent_);
  sent_.reset();
}

void Northbound::WriteTo(service::MetricsText& text) const {
  const MutexLock lock(mutex_);
  text.Metric("kuryr_controller_ovn_connected", "gauge",
              "1 while the northbound database is connected and its replica is whole.",
              ready_ ? 1 : 0);
  text.Metric("kuryr_controller_ovn_rows", "gauge",
              "Rows of the cluster in the northbound database.",
              static_cast<double>(keeper_.rows()));
  text.Metric("kuryr_controller_ovn_rows_pending", "gauge",
              "Rows that are not yet as they are to be.", static_cast<double>(keeper_.pending()));
  text.Metric("kuryr_controller_ovn_transactions_total", "counter",
              "Transactions sent to the northbound database.",
              static_cast<double>(counts_.transactions));
  text.Metric("kuryr_controller_ovn_transactions_failed_total", "counter",
              "Transactions that the northbound database refused.",
              static_cast<double>(counts_.failures));
  text.Metric("kuryr_controller_ovn_operations_total", "counter",
              "Operations of transactions sent.", static_cast<double>(counts_.operations));
  text.Metric("kuryr_controller_ovn_sent_bytes_total", "counter", "Bytes of transactions sent.",
              static_cast<double>(counts_.bytes));
}

}  // namespace kuryr::controller::ovn
