#include "cni/agent/upkeep/repair.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>

#include "base/log.h"
#include "binding/ovs/port_events.h"
#include "cni/attachments/process.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using binding::Difference;
using binding::Differences;
using Clock = RepairHistory::Clock;
using Outcome = RepairReport::Outcome;

/// The time in which all attachments are looked at, if they are at most 200.
constexpr std::chrono::minutes kLookEvery{5};
/// The shortest time between two attachments then. A look takes about 1 ms of a processor, so all
/// looks together take less than 0.1 % of it.
constexpr std::chrono::milliseconds kLookStep{1500};
/// The time between two attachments when all are looked at after an event.
constexpr std::chrono::milliseconds kStep{1};
/// The time from an event to the look: more events follow the first one.
constexpr std::chrono::milliseconds kSettle{100};
/// The time that one attachment may take.
constexpr std::chrono::seconds kRepairTime{5};

bool IsRepairable(const AttachmentRecord& record) {
  return record.added && record.boot_id == BootId() && record.delegate_config.empty() &&
         record.vifs.size() == record.plugs.size() && record.changing.empty() &&
         HasProducer(record);
}

bool HasPort(const AttachmentRecord& record) {
  return std::any_of(record.plugs.begin(), record.plugs.end(), binding::HasOvsPort);
}

bool IsLiveSafe(const Difference& difference) { return difference.live_safe; }

Differences CheckAll(const AttachmentRecord& record, const RecordCheck& check) {
  Differences all;
  for (size_t i = 0; i < record.vifs.size(); ++i) {
    const Differences found = check.Check(i);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

/// Returns why a difference may be left; nothing where none is.
std::optional<std::string> TryRepair(const AttachmentRecord& record, const RecordCheck& check) {
  try {
    for (size_t i = 0; i < record.vifs.size(); ++i) (void)check.Repair(i);
    return std::nullopt;
  } catch (const std::system_error& e) {
    // An ADD or DEL that cancels the repair is no failure of it.
    if (e.code() == std::errc::operation_canceled) throw;
    return e.what();
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

void Repair::Begin(Upkeep& upkeep) { upkeep.AddAfter(*this, "", kLookEvery); }

void Repair::Learn(const AttachmentRecord& record) {
  const MutexLock lock(mutex_);
  for (const binding::Plug& plug : record.plugs) {
    for (const std::string& name : binding::HostNamesOf(plug)) keys_[name] = ToString(record.key);
  }
}

void Repair::Forget(const AttachmentKey& key) {
  const MutexLock lock(mutex_);
  const std::string text = ToString(key);
  histories_.erase(text);
  std::erase_if(keys_, [&](const auto& known) { return known.second == text; });
}

void Repair::Wake(Upkeep& upkeep, const std::set<std::string>& names) const {
  if (names.contains(binding::PortEvents::kApplied)) switch_wait_.End(upkeep);
  const MutexLock lock(mutex_);
  for (const std::string& name : names) {
    const auto known = keys_.find(name);
    if (known != keys_.end()) upkeep.AddAfter(*this, known->second, kSettle);
  }
}

void Repair::WakeAll(Upkeep& upkeep) const {
  switch_wait_.End(upkeep);
  LookAt(upkeep, node_.attachments.List(), kStep);
}

void Repair::LookAt(Upkeep& upkeep, const std::vector<AttachmentKey>& keys,
                    std::chrono::milliseconds step) const {
  std::chrono::milliseconds delay = kSettle;
  for (const AttachmentKey& key : keys) {
    upkeep.AddAfter(*this, ToString(key), delay);
    delay += step;
  }
}

void Repair::BeginRound(Upkeep& upkeep) {
  const std::vector<AttachmentKey> keys = node_.attachments.List();
  const auto count = static_cast<int64_t>(keys.size());
  const auto round = std::max<std::chrono::milliseconds>(kLookEvery, count * kLookStep);
  LookAt(upkeep, keys, round / std::max<int64_t>(count, 1));
  upkeep.AddAfter(*this, "", round);
  std::set<std::string> present;
  for (const AttachmentKey& key : keys) present.insert(ToString(key));
  const MutexLock lock(mutex_);
  std::erase_if(histories_, [&](const auto& known) { return !present.contains(known.first); });
}

std::shared_ptr<RepairHistory> Repair::HistoryOf(const std::string& key) {
  const MutexLock lock(mutex_);
  std::shared_ptr<RepairHistory>& history = histories_[key];
  if (!history) history = std::make_shared<RepairHistory>();
  return history;
}

void Repair::Settle(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto history = histories_.find(key);
  if (history != histories_.end() && history->second->Settle(Clock::now()))
    histories_.erase(history);
}

bool Repair::Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) {
  if (key.empty()) {
    BeginRound(upkeep);
    return true;
  }
  const AttachmentKey attachment = ParseAttachmentKey(key).value();
  const auto record = node_.attachments.Find(attachment);
  if (!record || !IsRepairable(*record)) {
    Forget(attachment);
    return true;
  }
  Learn(*record);
  const auto pod = FindNetnsOf(*record);
  if (!pod) return true;
  const Deadline limit = deadline.AtMost(kRepairTime);
  const RecordCheck check(node_.binding, *record, *pod, limit);
  if (CheckAll(*record, check).empty()) {
    Settle(key);
    return true;
  }
  // A DEL makes differences as well.
  const auto locked = node_.attachments.TryTake(attachment);
  if (locked && locked->record() == *record) {
    Treat(upkeep, *record, check, limit);
  } else {
    Log(LogLevel::kDebug, "an attachment is left to the call that is at work on it",
        {{"pod", record->pod}, {"container", attachment.container_id}});
  }
  return true;
}

void Repair::Treat(Upkeep& upkeep, const AttachmentRecord& record, const RecordCheck& check,
                   const Deadline& deadline) {
  const std::string key = ToString(record.key);
  const auto history = HistoryOf(key);
  Differences found = CheckAll(record, check);
  Differences left = found;
  if (config_.repair == RepairMode::kOn) {
    std::erase_if(left, IsLiveSafe);
    std::erase_if(found, [](const Difference& difference) { return !difference.live_safe; });
  } else {
    found.clear();
  }
  if (history->IsNews(left, Clock::now())) report_.Tell(record, left, Outcome::kReported);
  if (found.empty()) return;
  switch (history->Judge(found, Clock::now())) {
    case RepairHistory::Verdict::kLeave:
      return;
    case RepairHistory::Verdict::kGiveUp:
      report_.Tell(record, found, Outcome::kContested);
      return;
    case RepairHistory::Verdict::kWait:
      Log(LogLevel::kDebug, "the next repair of an attachment is not due yet",
          {{"pod", record.pod}});
      upkeep.AddAfter(*this, key, history->WaitAt(Clock::now()));
      return;
    case RepairHistory::Verdict::kRepair:
      break;
  }
  if (HasPort(record) && !switch_wait_.IsServed(upkeep, *this, key, deadline)) return;
  if (const auto why = TryRepair(record, check)) {
    const bool is_news = history->AddFailure(*why, Clock::now());
    report_.TellFailure(record, found, *why, is_news);
    upkeep.AddAfter(*this, key, history->WaitAt(Clock::now()));
    return;
  }
  history->AddRepair(found, Clock::now());
  report_.Tell(record, found, Outcome::kRepaired);
}

}  // namespace kuryr::cni
