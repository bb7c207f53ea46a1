#include "cni/agent/upkeep/hot_plug.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "cni/attachments/process.h"
#include "cni/attachments/record_check.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using watcher::PodEvent;

/// The time from a change to the look: more changes follow the first one.
constexpr std::chrono::milliseconds kChangeSettle{100};
/// The time that the changes of one attachment may take.
constexpr std::chrono::seconds kChangeTime{10};
constexpr int kMostFailures = 3;
/// The time until a change that failed kMostFailures times is tried again.
constexpr std::chrono::minutes kRest{5};

bool FollowsPlan(const AttachmentRecord& record) {
  return record.added && record.boot_id == BootId() && record.delegate_config.empty() &&
         !record.vifs.empty() && record.vifs.size() == record.plugs.size() && HasProducer(record);
}

void Append(std::string& list, const std::string& item, const char* between = "; ") {
  list += (list.empty() ? "" : between) + item;
}

std::string AddressesOf(const vif::PodVif& vif) {
  std::string list;
  for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif)))
    Append(list, address.address.ToString(), ", ");
  return list.empty() ? "" : " (" + list + ")";
}

bool NeedsSwitch(const AttachmentRecord& record, const PlanChange& change) {
  const bool has_work = !record.changing.empty() || !change.removed.empty() ||
                        !change.changed.empty() || !change.added.empty();
  if (!has_work) return false;
  return std::any_of(record.plugs.begin(), record.plugs.end(), binding::HasOvsPort) ||
         std::any_of(change.added.begin(), change.added.end(), [](const PlanChange::Added& added) {
           return binding::HasOvsPort(added.planned.plug);
         });
}

std::string TextOf(const PlanChange& change) {
  std::string text;
  for (const std::string& ifname : change.removed)
    Append(text, ifname + " is not planned any more");
  for (const PlanChange::Changed& one : change.changed)
    Append(text, one.vif.ifname + " is planned with other values" + AddressesOf(one.vif));
  for (const PlanChange::Added& one : change.added)
    Append(text, one.vif.ifname + " is planned" + AddressesOf(one.vif));
  return text;
}

}  // namespace

void HotPlug::Wake(Upkeep& upkeep, const std::string& pod) const {
  upkeep.AddAfter(*this, pod, kChangeSettle);
}

void HotPlug::Follow(Upkeep& upkeep, const AttachmentRecord& record) const noexcept {
  try {
    repair_.Learn(record);
    const PlanChange change = FindPlanChange(node_.binding, record, registry_.Find(record.pod));
    if (FollowsPlan(record) && !change.empty())
      upkeep.AddAfter(*this, ToString(record.key), kChangeSettle);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "an attachment is not looked after until its plan changes",
        {{"pod", record.pod}, {"error", e.what()}});
  }
}

void HotPlug::Retry(Upkeep& upkeep, const AttachmentKey& key) const {
  upkeep.AddAfter(*this, ToString(key), 0ms);
}

void HotPlug::WakeAttachmentsOf(Upkeep& upkeep, const std::string& pod) {
  const auto records = node_.attachments.FindOthersMentioning({nlohmann::json(pod).dump()}, {});
  for (const AttachmentRecord& record : records) {
    if (record.pod != pod) continue;
    const std::string key = ToString(record.key);
    const auto history = histories_.find(key);
    if (history != histories_.end()) history->second = {.told = history->second.told};
    upkeep.AddAfter(*this, key, 0ms);
  }
}

bool HotPlug::Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) {
  const auto attachment = ParseAttachmentKey(key);
  if (!attachment) {
    WakeAttachmentsOf(upkeep, key);
    return true;
  }
  const auto known = node_.attachments.Find(*attachment);
  if (!known || !FollowsPlan(*known)) {
    histories_.erase(key);
    return true;
  }
  repair_.Learn(*known);
  const auto planned = registry_.Find(known->pod);
  const PlanChange found = FindPlanChange(node_.binding, *known, planned);
  const bool has_work = !known->changing.empty() || !found.empty();
  const auto pod = has_work ? FindNetnsOf(*known) : std::nullopt;
  if (!pod) {
    histories_.erase(key);
    return true;
  }
  if (config_.repair == RepairMode::kOn && NeedsSwitch(*known, found) &&
      !switch_wait_.IsServed(upkeep, *this, key, deadline))
    return true;
  auto locked = node_.attachments.TryTake(*attachment);
  if (!locked || locked->record() != known) return false;
  History& history = histories_[key];
  RunningPlugs plugs(node_, *locked, *pod, deadline.AtMost(kChangeTime));
  try {
    if (config_.repair == RepairMode::kOn) plugs.DropInterrupted();
    const PlanChange change = FindPlanChange(node_.binding, plugs.record(), planned);
    if (config_.repair == RepairMode::kOn) {
      Make(plugs, change, history);
    } else {
      Report(plugs.record(), change, history);
    }
  } catch (const std::exception& e) {
    return Fail(upkeep, key, plugs.record(), e.what());
  }
  history.failures = 0;
  return true;
}

void HotPlug::Make(RunningPlugs& plugs, const PlanChange& change, History& history) {
  std::string done;
  std::string failed;
  const auto act = [&](const std::string& kind, const std::string& ifname,
                       const std::string& addresses, const auto& step) {
    const std::string what = kind + " " + ifname + addresses;
    try {
      step();
      repair_.Learn(plugs.record());
      Append(done, what);
      count_.Add(kind, "done");
      Log(LogLevel::kInfo, "an attachment follows its plan",
          {{"pod", plugs.record().pod}, {"interface", ifname}, {"change", what}});
    } catch (const std::exception& e) {
      Append(failed, ifname + ": " + Printable(e.what(), 300));
      count_.Add(kind, "failed");
    }
  };
  for (const std::string& ifname : change.removed)
    act("unplugged", ifname, "", [&] { plugs.Unplug(ifname); });
  for (const PlanChange::Changed& one : change.changed)
    act("changed", one.vif.ifname, AddressesOf(one.vif), [&] { plugs.Change(one); });
  for (const PlanChange::Added& one : change.added)
    act("plugged", one.vif.ifname, AddressesOf(one.vif), [&] { plugs.Plug(one); });
  if (!done.empty()) {
    reporter_.SetStatus(plugs.record(), plugs.Plugged());
    reporter_.Post(plugs.record(), {.reason = "CNIPlanFollowed", .message = "Now: " + done});
  }
  if (!change.refused.empty()) Report(plugs.record(), {.refused = change.refused}, history);
  if (!failed.empty()) throw std::runtime_error(failed);
}

void HotPlug::Report(const AttachmentRecord& record, const PlanChange& change, History& history) {
  std::string refused;
  for (const std::string& one : change.refused) Append(refused, one);
  const std::string differences = TextOf(change);
  if (!differences.empty()) {
    (void)TellOnce(record,
                   {.type = PodEvent::Type::kWarning,
                    .reason = "CNIDiffers",
                    .message = "Not as it is planned now: " + differences},
                   history);
  }
  if (refused.empty()) return;
  const PodEvent event = {
      .type = PodEvent::Type::kWarning,
      .reason = "CNIPlanRefused",
      .message = "The plan has changed, and the running pod keeps what it has: " + refused};
  if (!TellOnce(record, event, history)) return;
  for (size_t i = 0; i < change.refused.size(); ++i) count_.Add("planned", "refused");
}

bool HotPlug::TellOnce(const AttachmentRecord& record, const PodEvent& event,
                       History& history) const {
  if (std::exchange(history.told[event.reason], event.message) == event.message) return false;
  Log(LogLevel::kWarning, "an attachment is not as it is planned now",
      {{"pod", record.pod}, {"difference", event.message}});
  reporter_.Post(record, event);
  return true;
}

void HotPlug::WriteTo(service::MetricsText& text) const {
  constexpr const char* kName = "kuryr_daemon_hot_plugs_total";
  text.Head(kName, "counter", "Changes of running pods' interfaces by their plans.");
  count_.ForEach([&](const std::string& change, const std::string& outcome, double count) {
    text.Sample(kName, {{"change", change}, {"outcome", outcome}}, count);
  });
}

bool HotPlug::Fail(Upkeep& upkeep, const std::string& key, const AttachmentRecord& record,
                   const std::string& why) {
  History& history = histories_[key];
  Log(history.failures == 0 ? LogLevel::kInfo : LogLevel::kDebug,
      "an attachment could not follow its plan", {{"pod", record.pod}, {"error", why}});
  if (++history.failures < kMostFailures) return false;
  (void)TellOnce(record,
                 {.type = PodEvent::Type::kWarning,
                  .reason = "CNIPlanFailed",
                  .message = "The plan has changed, and the node could not follow it: " + why},
                 history);
  upkeep.AddAfter(*this, key, kRest);
  return true;
}

}  // namespace kuryr::cni
