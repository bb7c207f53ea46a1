#include "controller/backends/ovn/southbound/southbound.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "controller/backends/ovn/southbound/schema.h"
#include "ovsdb/client.h"
#include "ovsdb/operation.h"

namespace kuryr::controller::ovn {
namespace {

/// No event says that this process leads again.
constexpr std::chrono::seconds kLeadsAgain{1};

std::vector<OvsdbTable> SouthboundTables() {
  const nlohmann::json every = nlohmann::json::array({true});
  return {{.name = kChassis,
           .values = {"name", "hostname"},
           .maps = {kOtherConfig},
           .condition = every},
          {.name = kEncap, .values = {"chassis_name", "ip"}, .condition = every}};
}

}  // namespace

Southbound::Southbound(Parts parts)
    : parts_(std::move(parts)),
      roster_(parts_.cluster),
      replica_(kSouthboundName, parts_.remotes, SouthboundTables(),
               {.changed =
                    [this](const std::string& table, const std::string& uuid,
                           const OvsdbRow* /*before*/, const OvsdbRow* row) {
                      const MutexLock lock(mutex_);
                      roster_.OnRow(table, uuid, row);
                    },
                .answered = [this](const nlohmann::json& results) { OnAnswer(results); },
                .lost = [this] { sent_.reset(); }}),
      thread_([this](const std::stop_token& stop) { Work(stop); }) {}

Southbound::~Southbound() {
  thread_.request_stop();
  wake_.Set();
}

void Southbound::Begin() {
  {
    const MutexLock lock(mutex_);
    begun_ = true;
  }
  wake_.Set();
}

void Southbound::SetNode(const MachineOfNode& node) {
  {
    const MutexLock lock(mutex_);
    roster_.SetNode(node);
  }
  wake_.Set();
}

void Southbound::RemoveNode(const std::string& name) {
  {
    const MutexLock lock(mutex_);
    roster_.RemoveNode(name);
  }
  wake_.Set();
}

std::optional<std::string> Southbound::FindProblem(const std::string& node) const {
  const MutexLock lock(mutex_);
  const auto problem = problems_.find(node);
  return problem == problems_.end() ? std::nullopt : std::optional(problem->second);
}

void Southbound::Work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Clock::time_point next = Look();
    eventfd_t ignored = 0;
    try {
      if (!replica_.Next({.at = next, .cancel_fd = wake_.fd()}))
        ::eventfd_read(wake_.fd(), &ignored);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "southbound database", {{"error", e.what()}});
    }
  }
}

Southbound::Clock::time_point Southbound::Look() {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = Clock::time_point::max();
  std::set<std::string> told;
  std::optional<ChassisRoster::Stale> due;
  {
    const MutexLock lock(mutex_);
    if (!begun_ || !replica_.IsReady()) return next;
    told = Learn(roster_.Assess());
    for (const auto& [uuid, candidate] : stale_)
      if (candidate.due > now) next = std::min(next, candidate.due);
    due = FindDue(now);
  }
  for (const std::string& node : told)
    parts_.hooks.wake({.id = "", .scope = "", .name = node, .node = node});
  if (!due || sent_) return next;
  if (parts_.hooks.may_write && !parts_.hooks.may_write()) return now + kLeadsAgain;
  const bool is_confirmed = IsConfirmed(*due);
  if (is_confirmed) {
    Remove(*due);
  } else {
    const MutexLock lock(mutex_);
    stale_.erase(due->uuid);
  }
  return is_confirmed ? next : Clock::now();
}

std::set<std::string> Southbound::Learn(ChassisRoster::Assessment found) {
  std::map<std::string, Candidate> stale;
  for (const ChassisRoster::Stale& chassis : found.stale) {
    const auto known = stale_.find(chassis.uuid);
    const auto due = known == stale_.end() ? Clock::now() + parts_.grace : known->second.due;
    stale.emplace(chassis.uuid, Candidate{.chassis = chassis, .due = due});
  }
  stale_.swap(stale);
  std::set<std::string> changed;
  for (const auto& [node, problem] : found.problems) {
    const auto known = problems_.find(node);
    if (known == problems_.end() || known->second != problem) changed.insert(node);
  }
  for (const auto& [node, problem] : problems_)
    if (!found.problems.contains(node)) changed.insert(node);
  problems_.swap(found.problems);
  return changed;
}

std::optional<ChassisRoster::Stale> Southbound::FindDue(Clock::time_point now) const {
  if (!parts_.hooks.find_machine) return std::nullopt;
  const auto due = std::find_if(stale_.begin(), stale_.end(), [&](const auto& entry) {
    return entry.second.due <= now && !removed_.contains(entry.second.chassis.name);
  });
  return due == stale_.end() ? std::nullopt : std::optional(due->second.chassis);
}

bool Southbound::IsConfirmed(const ChassisRoster::Stale& chassis) const {
  try {
    return IsStale(chassis.mark, parts_.hooks.find_machine(chassis.mark.node));
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "a chassis stays, since its node cannot be asked for",
        {{"chassis", Printable(chassis.name)}, {"error", e.what()}});
    return false;
  }
}

/// As ovn-sbctl chassis-del. Encaps go with their chassis. One that has another mark by now stays.
void Southbound::Remove(const ChassisRoster::Stale& chassis) {
  const nlohmann::json is_same = nlohmann::json::array(
      {nlohmann::json::array({"_uuid", "==", ovsdb::Uuid(chassis.uuid)}),
       nlohmann::json::array(
           {kOtherConfig, "includes", ovsdb::Map({{kCmsOptions, chassis.options}})})});
  const nlohmann::json operations = nlohmann::json::array(
      {ovsdb::Require(kChassis, is_same, "name", chassis.name), ovsdb::Delete(kChassis, is_same),
       ovsdb::Delete(kChassisPrivate, ovsdb::Where("name", "==", chassis.name))});
  if (replica_.Transact(operations) == 0) return;
  Log(LogLevel::kWarning, "the chassis of a machine that is gone is removed from OVN",
      {{"chassis", Printable(chassis.name)}, {"node", Printable(chassis.mark.node)}});
  sent_ = chassis;
}

void Southbound::OnAnswer(const nlohmann::json& results) {
  if (!sent_) return;
  if (const auto failure = OvsdbClient::FailureIn(results)) {
    Log(LogLevel::kError, "a chassis could not be removed",
        {{"chassis", Printable(sent_->name)}, {"error", failure->ToString()}});
    const MutexLock lock(mutex_);
    stale_.erase(sent_->uuid);  // After another grace it is tried again.
  } else {
    removed_.insert(sent_->name);
  }
  sent_.reset();
}

}  // namespace kuryr::controller::ovn
