#include "controller/backends/neutron/security/isolation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "controller/backends/neutron/ports/port_request.h"
#include "controller/plan/plan_error.h"

namespace kuryr::controller::neutron {
namespace {

/// From the first look to the second; then the time doubles. Neutron may carry out a killed
/// controller's request late.
constexpr std::chrono::milliseconds kSecondLook{5'000};

std::vector<std::string> SortedIds(std::vector<std::string> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

Isolation::Isolation(NeutronApi& api, const PodDefaults& defaults, Hooks hooks,
                     std::chrono::milliseconds look)
    : defaults_(defaults),
      hooks_(std::move(hooks)),
      look_(look),
      api_(api),
      store_(api, defaults),
      to_next_look_(std::min(look, kSecondLook)),
      sets_(defaults) {}

void Isolation::Enforce(const policy::PolicyChanges& changes) {
  {
    const MutexLock lock(mutex_);
    PolicyGroups::Changes changed = policies_.Take(changes.policies);
    unwritten_.merge(changed.groups);
    sets_.Take(changes.pods);
    for (const auto& [member, sets] : changes.pods) SetDue(policy::PodOf(member), Due::kWaiting);
    const auto is_changed = [&](const std::set<policy::PodSet>& sets) {
      return std::any_of(changed.sets.begin(), changed.sets.end(),
                         [&](const policy::PodSet& set) { return sets.contains(set); });
    };
    if (!changed.sets.empty()) {
      for (const std::string& uid : sets_.PodsWith(is_changed)) SetDue(uid, Due::kWaiting);
    }
  }
  hooks_.want_run();
}

void Isolation::EndAdoption() {
  {
    const MutexLock lock(mutex_);
    is_adopted_ = true;
  }
  hooks_.want_run();
}

size_t Isolation::CountOf(Due due) const {
  const auto count = counts_.find(due);
  return count == counts_.end() ? 0 : count->second;
}

void Isolation::SetDue(const std::string& owner_id, std::optional<Due> due) {
  const auto known = due_.find(owner_id);
  if (known != due_.end()) --counts_[known->second];
  if (due) ++counts_[*due];
  if (due) {
    due_[owner_id] = *due;
  } else if (known != due_.end()) {
    due_.erase(known);
  }
}

/// The kubelet probes a pod by interface eth0.
PolicyGroups::Membership Isolation::MembershipOf(const std::string& pod_uid,
                                                 const PolicedPort& port) const {
  return policies_.Of(sets_.Of(pod_uid, port), !port.is_additional());
}

bool Isolation::MayPlan(const std::string& pod_uid, const std::vector<PolicedPort>& ports) {
  {
    const MutexLock lock(mutex_);
    const auto due = due_.find(pod_uid);
    if (due == due_.end()) {
      for (const PolicedPort& port : ports) RequireGroups(pod_uid, port);
      return true;
    }
    if (!trouble_.empty()) throw PlanError(PlanError::Kind::kRetry, trouble_);
    // The task may have been asked for before the owner was held: then it never comes.
    if (due->second == Due::kJoining || due->second == Due::kTrying) SetDue(pod_uid, Due::kWaiting);
  }
  hooks_.want_run();
  return false;
}

void Isolation::RequireGroups(const std::string& pod_uid, const PolicedPort& port) const {
  for (const GroupName& name : MembershipOf(pod_uid, port).isolating) {
    if (ids_.contains(name)) continue;
    const auto failure = failures_.find(name);
    throw PlanError(PlanError::Kind::kRetry, failure == failures_.end()
                                                 ? "Neutron lacks the security group of a policy"
                                                 : failure->second);
  }
}

bool Isolation::IsDue(const std::string& owner_id) const {
  const MutexLock lock(mutex_);
  return due_.contains(owner_id);
}

bool Isolation::IsWaiting(const std::string& owner_id) const {
  const MutexLock lock(mutex_);
  const auto due = due_.find(owner_id);
  return due != due_.end() && due->second == Due::kWaiting;
}

std::vector<std::string> Isolation::Choose(const Owner& owner, const PolicedPort& port,
                                           std::vector<std::string> own) {
  {
    const MutexLock lock(mutex_);
    if (!due_.contains(owner.id)) RequireGroups(owner.id, port);
    SetOwn(owner.id, port, std::move(own));
  }
  return GroupsOf(owner, port);
}

void Isolation::SetOwn(const std::string& owner_id, const PolicedPort& port,
                       std::vector<std::string> own) {
  auto& ports = own_[owner_id];
  if (SortedIds(own) == SortedIds(defaults_.security_groups)) {
    ports.erase(port.ifname);
  } else {
    ports[port.ifname] = std::move(own);
  }
  if (ports.empty()) own_.erase(owner_id);
}

const std::vector<std::string>& Isolation::OwnGroupsOf(const Owner& owner,
                                                       const PolicedPort& port) const {
  const auto ports = own_.find(owner.id);
  if (ports != own_.end()) {
    const auto own = ports->second.find(port.ifname);
    if (own != ports->second.end()) return own->second;
  }
  return owner.is_node() ? GroupsOfNodes(defaults_) : defaults_.security_groups;
}

void Isolation::Append(const GroupName& name, std::vector<std::string>& ids) const {
  const auto id = ids_.find(name);
  if (id != ids_.end()) ids.push_back(id->second);
}

std::vector<std::string> Isolation::GroupsOf(const Owner& owner, const PolicedPort& port) const {
  const MutexLock lock(mutex_);
  std::vector<std::string> ids = OwnGroupsOf(owner, port);
  if (owner.is_node()) {
    Append(PolicyGroups::names().nodes, ids);
    return SortedIds(std::move(ids));
  }
  const PolicyGroups::Membership membership = MembershipOf(owner.id, port);
  if (membership.is_isolated()) ids.clear();
  for (const GroupName& name : membership.groups) Append(name, ids);
  return SortedIds(std::move(ids));
}

std::vector<std::string> Isolation::NextGroups(const Owner& owner, const PolicedPort& port,
                                               const std::vector<std::string>& now) const {
  std::vector<std::string> last = GroupsOf(owner, port);
  const MutexLock lock(mutex_);
  const auto due = due_.find(owner.id);
  if (due == due_.end() || due->second != Due::kJoining) return last;
  std::vector<std::string> peers = now;
  const std::vector<GroupName> names = owner.is_node() ? std::vector{PolicyGroups::names().nodes}
                                                       : MembershipOf(owner.id, port).groups;
  for (const GroupName& name : names) {
    if (policies_.IsPeer(name)) Append(name, peers);
  }
  peers = SortedIds(std::move(peers));
  // A port that leaves no group needs no second request.
  return std::includes(last.begin(), last.end(), peers.begin(), peers.end()) ? last : peers;
}

/// An additional port that no policy knows keeps what Neutron has, also no group at all.
void Isolation::Learn(const std::string& owner_id, const PolicedPort& port,
                      const std::vector<std::string>& groups) {
  const MutexLock lock(mutex_);
  std::vector<std::string> own;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(own),
               [&](const std::string& id)
                   KURYR_TSA(requires_capability(mutex_)) { return !all_ids_.contains(id); });
  const bool is_free = port.is_additional() && own == groups && sets_.Of(owner_id, port).empty();
  const auto ports = own_.find(owner_id);
  const bool is_known = ports != own_.end() && ports->second.contains(port.ifname);
  if (is_free || (!is_known && !own.empty())) SetOwn(owner_id, port, std::move(own));
}

void Isolation::Tried(const std::string& owner_id, bool is_done) {
  bool is_calm = false;
  {
    const MutexLock lock(mutex_);
    const auto due = due_.find(owner_id);
    if (due == due_.end() || due->second == Due::kWaiting || due->second == Due::kJoined) return;
    const bool was_joining = due->second == Due::kJoining;
    const bool was_late = due->second == Due::kLate;
    const auto done = was_joining ? std::optional(Due::kJoined) : std::nullopt;
    SetDue(owner_id, is_done ? done : std::optional(Due::kLate));
    is_calm = was_joining ? CountOf(Due::kJoining) == 0
                          : !was_late && CountOf(Due::kTrying) == 0 && !unclean_.empty();
  }
  if (is_calm) hooks_.want_run();
}

/// Ports of other owners may have waited until this one joined.
void Isolation::Forget(const std::string& owner_id) {
  bool was_due = false;
  {
    const MutexLock lock(mutex_);
    was_due = due_.contains(owner_id);
    SetDue(owner_id, std::nullopt);
    own_.erase(owner_id);
  }
  if (was_due) hooks_.want_run();
}

void Isolation::Doubt() {
  {
    const MutexLock lock(mutex_);
    is_doubted_ = true;
  }
  hooks_.want_run();
}

void Isolation::Run(service::Chore& chore) {
  bool is_clean = true;
  try {
    WriteGroups();
    Regroup();
    is_clean = Clean();
  } catch (const NeutronError& e) {
    Log(LogLevel::kWarning, "security groups not written; it will be tried again",
        {{"error", e.what()}});
    {
      const MutexLock lock(mutex_);
      trouble_ = e.what();
      is_doubted_ = true;
    }
    Regroup();
    return chore.Retry();
  }
  chore.Want(std::max(next_look_ - Clock::now(), Clock::duration()));
  const MutexLock lock(mutex_);
  if (!is_clean || !failures_.empty()) chore.Retry();
}

GroupStore::Wanted Isolation::WantedOf(const std::set<GroupName>& names) const {
  GroupStore::Wanted wanted;
  for (const GroupName& name : names) {
    if (const auto* const rules = policies_.Find(name)) wanted.emplace(name, *rules);
  }
  return wanted;
}

void Isolation::WriteGroups() {
  bool is_look = false;
  GroupStore::Wanted wanted;
  GroupStore::Failures before;
  {
    const MutexLock lock(mutex_);
    is_look =
        std::exchange(is_doubted_, false) || !store_.is_listed() || Clock::now() >= next_look_;
  }
  if (is_look) Look();
  {
    const MutexLock lock(mutex_);
    if (is_look) unwritten_.merge(policies_.All());
    std::set<GroupName> names = unwritten_;
    for (const auto& [name, failure] : failures_) names.insert(name);
    wanted = WantedOf(names);
    before = failures_;
    unclean_.merge(names);
  }
  const GroupStore::Outcome outcome = store_.Write(wanted);
  for (const GroupName& name : outcome.unfinished) wanted.erase(name);
  Publish(wanted, outcome.failures);
  TellOf(before);
  if (!outcome.unfinished.empty()) hooks_.want_run();
  if (!is_look) return;
  const std::set<std::string> differing = hooks_.find_differing();
  const MutexLock lock(mutex_);
  for (const std::string& owner : differing) SetDue(owner, Due::kWaiting);
  next_look_ = Clock::now() + to_next_look_;
  to_next_look_ = std::min(2 * to_next_look_, look_);
}

void Isolation::Look() {
  std::vector<IpNetwork> nets;
  nets.reserve(defaults_.worker_subnets.size());
  for (const std::string& id : defaults_.worker_subnets) nets.push_back(api_.GetSubnet(id).cidr);
  store_.List();
  const MutexLock lock(mutex_);
  policies_.SetNodeNets(nets);
}

void Isolation::ReadStore() {
  ids_ = store_.Ids();
  all_ids_ = store_.AllIds();
  rules_ = store_.rules();
}

/// A group that has changed meanwhile is still to be written.
void Isolation::Publish(const GroupStore::Wanted& tried, const GroupStore::Failures& failures) {
  const MutexLock lock(mutex_);
  const auto ids = std::exchange(ids_, store_.Ids());
  std::set<GroupName> late;
  for (const auto& [name, failure] : failures_) {
    if (ids_.contains(name) && !ids.contains(name)) late.insert(name);
  }
  if (!late.empty()) AwaitMembersOf(late);
  ReadStore();
  failures_ = failures;
  trouble_.clear();
  std::erase_if(unwritten_, [&](const GroupName& name) KURYR_TSA(requires_capability(mutex_)) {
    const auto* const rules = policies_.Find(name);
    const auto written = tried.find(name);
    if (written == tried.end()) return rules == nullptr;
    return rules != nullptr && *rules == written->second;
  });
}

void Isolation::AwaitMembersOf(const std::set<GroupName>& names) {
  const auto has_one =
      [&](const std::set<policy::PodSet>& sets) KURYR_TSA(requires_capability(mutex_)) {
        const auto groups = policies_.Of(sets, true).groups;
        return std::any_of(groups.begin(), groups.end(),
                           [&](const GroupName& name) { return names.contains(name); });
      };
  for (const std::string& uid : sets_.PodsWith(has_one)) SetDue(uid, Due::kWaiting);
}

void Isolation::TellOf(const GroupStore::Failures& before) {
  std::set<std::string> policies;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, failure] : failures_) {
      const auto known = before.find(name);
      if (known != before.end() && known->second == failure) continue;
      Log(LogLevel::kWarning, "security group incomplete; it will be tried again",
          {{"group", name}, {"error", failure}});
      policies.merge(policies_.PoliciesOf(name));
    }
  }
  if (!policies.empty()) hooks_.tell(policies);
}

bool Isolation::IsWritten(const std::string& owner_id) const {
  const auto lacks_one =
      [this](const std::set<policy::PodSet>& sets) KURYR_TSA(requires_capability(mutex_)) {
        const auto groups = policies_.Of(sets, true).groups;
        return std::any_of(groups.begin(), groups.end(),
                           [this](const GroupName& name) KURYR_TSA(requires_capability(mutex_)) {
                             return unwritten_.contains(name);
                           });
      };
  return !sets_.AnyOf(owner_id, lacks_one);
}

std::vector<std::string> Isolation::Advance(Due from, Due next) {
  std::vector<std::string> owners;
  for (const auto& [id, due] : due_) {
    const bool may_change = from != Due::kWaiting || next == Due::kWaiting || IsWritten(id);
    if (due == from && may_change) owners.push_back(id);
  }
  for (const std::string& id : owners) SetDue(id, next);
  return owners;
}

void Isolation::AskFor(const std::vector<std::string>& owners) {
  for (const std::string& id : owners) {
    if (hooks_.regroup(id)) continue;
    const MutexLock lock(mutex_);
    const auto due = due_.find(id);
    if (due != due_.end() && due->second != Due::kWaiting) SetDue(id, std::nullopt);
  }
}

void Isolation::Regroup() {
  std::vector<std::string> waiting;
  std::vector<std::string> joined;
  {
    const MutexLock lock(mutex_);
    if (!trouble_.empty()) {
      waiting = Advance(Due::kWaiting, Due::kWaiting);
    } else if (is_adopted_ && CountOf(Due::kJoining) == 0) {
      joined = Advance(Due::kJoined, Due::kTrying);
      waiting = Advance(Due::kWaiting, Due::kJoining);
    }
  }
  AskFor(joined);
  AskFor(waiting);
  {
    const MutexLock lock(mutex_);
    if (CountOf(Due::kJoining) > 0 || CountOf(Due::kJoined) == 0) return;
  }
  hooks_.want_run();
}

/// What old rules allow is not cut before the new ones are there.
bool Isolation::Clean() {
  std::set<GroupName> names;
  GroupStore::Wanted wanted;
  std::set<GroupName> kept;
  {
    const MutexLock lock(mutex_);
    const size_t changing = CountOf(Due::kJoining) + CountOf(Due::kJoined) + CountOf(Due::kTrying);
    if (unclean_.empty() || changing > 0 || !is_adopted_) return true;
    std::set_difference(unclean_.begin(), unclean_.end(), unwritten_.begin(), unwritten_.end(),
                        std::inserter(names, names.end()));
    wanted = WantedOf(names);
    kept = policies_.All();
  }
  const std::set<GroupName> cleaned = store_.Clean(wanted);
  const bool is_done = store_.DeleteBut(kept);
  if (cleaned.size() < wanted.size()) hooks_.want_run();
  const MutexLock lock(mutex_);
  ReadStore();
  std::erase_if(names, [&](const GroupName& name) {
    return !is_done || (wanted.contains(name) && !cleaned.contains(name));
  });
  for (const GroupName& name : names) unclean_.erase(name);
  return is_done;
}

std::optional<std::string> Isolation::FindRefusal(const std::string& policy) const {
  const MutexLock lock(mutex_);
  for (const auto& [name, failure] : failures_) {
    if (policies_.PoliciesOf(name).contains(policy)) return failure;
  }
  return std::nullopt;
}

Isolation::Figures Isolation::figures() const {
  const MutexLock lock(mutex_);
  return {.groups = ids_.size(), .rules = rules_, .refused = failures_.size(), .due = due_.size()};
}

}  // namespace kuryr::controller::neutron
