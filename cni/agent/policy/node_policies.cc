#include "cni/agent/policy/node_policies.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>

#include "base/error.h"
#include "base/log.h"
#include "binding/netlink/nft_events.h"
#include "cni/agent/policy/policy_answer.h"
#include "cni/agent/upkeep/event_thread.h"
#include "cni/attachments/process.h"
#include "cni/failure.h"
#include "cni/protocol/error.h"
#include "policy/policy_events.h"
#include "policy/policy_pod.h"

namespace kuryr::cni {
namespace {

using Clock = Deadline::Clock;

/// After a change that the kernel refused.
constexpr std::chrono::seconds kAgain{1};

/// The attachments of this boot. Of two with one address, the newer one has it.
std::vector<AttachmentRecord> OldestFirst(const AttachmentStore& attachments) {
  std::multimap<std::chrono::seconds, AttachmentRecord, std::greater<>> by_age;
  for (const AttachmentKey& key : attachments.List()) {
    auto record = attachments.Find(key);
    if (record && record->added && record->boot_id == BootId())
      by_age.emplace(attachments.AgeOf(key), *std::move(record));
  }
  std::vector<AttachmentRecord> records;
  records.reserve(by_age.size());
  for (auto& [age, record] : by_age) records.push_back(std::move(record));
  return records;
}

/// The addresses that have chains.
std::set<IpAddress> AddressesOf(const binding::Filter& filter) {
  std::set<IpAddress> addresses;
  for (const auto* chains : {&filter.senders, &filter.receivers}) {
    for (const auto& [address, chain] : *chains) addresses.insert(address);
  }
  return addresses;
}

/// Removes the rules of a configuration that wanted policies. An agent that may not do so answers
/// calls and health nevertheless.
void RemoveRules() {
  try {
    binding::RemovePodFilter();
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "the policies' rules stay", {{"error", e.what()}});
  }
}

std::string WatchFailureOf(const std::exception& failure) {
  return std::string("policies cannot be watched: ") + failure.what() +
         " (etc/kubernetes/base/agent/rbac.yaml has the rights)";
}

}  // namespace

NodePolicies::NodePolicies(const Config& config, const AttachmentStore& attachments)
    : config_(config),
      attachments_(attachments),
      log_failure_(watcher::LogFailures("the policies may be out of date", WatchFailureOf)) {
  pipeline_.Register(*this);
}

bool NodePolicies::IsWanted() const noexcept {
  return config_.node_network.enabled && config_.node_network.policies;
}

void NodePolicies::Start() {
  if (!IsWanted()) return RemoveRules();
  watcher_.emplace(config_.api, pipeline_,
                   [this](const std::exception_ptr& failure) { OnFailure(failure); });
  watcher_->Start();
  {
    const MutexLock lock(mutex_);
    for (const AttachmentRecord& record : OldestFirst(attachments_)) Learn(record);
  }
  kernel_ = std::jthread([this](const std::stop_token& stop) { FollowKernel(stop); });
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void NodePolicies::Stop() {
  kernel_ = {};
  thread_ = {};
  if (watcher_) watcher_->Stop();
}

std::vector<std::pair<watcher::KeyFn, std::string>> NodePolicies::Consumes() const {
  std::vector<std::pair<watcher::KeyFn, std::string>> kinds = {
      {watcher::ObjectKind, "NetworkPolicy"},
      {watcher::ObjectKind, "Namespace"},
      {watcher::ObjectKind, "Node"},
      {watcher::ObjectKind, "Pod"}};
  for (const policy::AdminKind& admins : policy::kAdminKinds)
    kinds.emplace_back(watcher::ObjectKind, admins.kind);
  return kinds;
}

void NodePolicies::Watch(Watched what) {
  using Mode = watcher::WatchMode;
  if (watched_ >= what) return;
  const auto begins = [what, former = watched_](Watched level) {
    return former < level && level <= what;
  };
  if (begins(Watched::kPolicies)) {
    watcher_->Add("/apis/networking.k8s.io/v1/networkpolicies", Mode::kSet);
    for (const policy::AdminKind& kind : policy::kAdminKinds)
      watcher_->Add(kind.path(), Mode::kOptionalSet);
  }
  if (begins(Watched::kPods)) {
    watcher_->Add("/api/v1/namespaces", Mode::kSet);
    watcher_->Add("/api/v1/pods", Mode::kSet);
  }
  if (begins(Watched::kNodes)) watcher_->Add("/api/v1/nodes", Mode::kSet);
  watched_ = what;
  watcher_->CatchUp([this, what] { OnListed(what); });
}

/// An ADD that waits for a list says why there is none.
void NodePolicies::OnFailure(const std::exception_ptr& failure) {
  log_failure_(failure);
  const MutexLock lock(mutex_);
  watch_failure_ = WatchFailureOf(AsCniError(failure));
}

void NodePolicies::OnListed(Watched what) {
  const MutexLock lock(mutex_);
  listed_ = std::max(listed_, what);
  watch_failure_.clear();
  WatchWhatPoliciesName();
  Wake();
}

void NodePolicies::WatchWhatPoliciesName() {
  if (policies_.policies().empty()) return;
  Watch(compiler_.names_nodes() ? Watched::kNodes : Watched::kPods);
}

bool NodePolicies::IsComplete() const { return listed_ == watched_; }

void NodePolicies::Handle(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  const policy::PolicyChanges changes = policy::Compile(compiler_, event);
  filters_.Forget(policies_, changes);
  policies_.Apply(changes);
  for (const auto& [member, sets] : changes.pods) sets_.SetSets(member, sets);
  bool has_changed = !changes.policies.empty() || !changes.pods.empty();
  if (event.kind == "Pod")
    has_changed = Take(addresses_.Learn(event, wanted_ + (has_changed ? 1 : 0))) || has_changed;
  if (!changes.policies.empty() && listed_ != Watched::kNothing) WatchWhatPoliciesName();
  if (has_changed) return Wake();
  changed_.notify_all();
}

/// The node knows the addresses of its own new pods before their status tells them.
bool NodePolicies::Take(const PodAddresses::Uids& changed) {
  bool has_opened = false;
  for (const std::string& uid : changed) {
    const std::set<IpAddress> addresses = addresses_.Of(uid);
    has_opened = closed_.OpenTo(uid, addresses) || has_opened;
    sets_.SetAddressesOf(uid, addresses);
  }
  return has_opened || sets_.has_changed();
}

void NodePolicies::Learn(const AttachmentRecord& record) {
  if (RoutedAddresses(record).empty()) return;
  const bool has_changed = Take(addresses_.Plug(record));
  Watch(Watched::kPolicies);
  if (has_changed || !IsFree(record)) Wake();
}

void NodePolicies::Admit(const AttachmentRecord& record, const Deadline& deadline) {
  const std::set<IpAddress> addresses = RoutedAddresses(record);
  if (!IsWanted() || addresses.empty()) return;
  if (AwaitEffect(record, deadline)) binding::DropWaitingPackets(addresses);
}

bool NodePolicies::AwaitEffect(const AttachmentRecord& record, const Deadline& deadline) {
  MutexLock lock(mutex_);
  Learn(record);
  const uint64_t change = wanted_;
  const std::stop_source never;
  const auto is_in_effect = [&]() KURYR_TSA(requires_capability(mutex_)) {
    // Where no pods are watched, no policy selects one.
    const auto told =
        watched_ < Watched::kPods ? std::optional(change) : addresses_.FirstEventOf(record);
    return told && ((applied_ >= change && applied_ >= *told) || IsFree(record));
  };
  changed_.wait_until(mutex_, never.get_token(), deadline.at,
                      [&]() KURYR_TSA(requires_capability(mutex_)) {
                        return is_in_effect() || !addresses_.IsPlugged(record.key);
                      });
  if (!addresses_.IsPlugged(record.key))
    throw CniError(ErrorCode::kUnknownContainer, "pod " + record.pod + " is gone",
                   "it has ended while its policies were made");
  if (is_in_effect()) return IsNamed(record);
  const std::string& failure = failure_.empty() ? watch_failure_ : failure_;
  throw CniError(ErrorCode::kTryAgainLater,
                 "the policies of pod " + record.pod + " are not in effect on this node yet",
                 failure.empty()
                     ? "the API server has not told of all policies, namespaces and pods"
                     : failure);
}

bool NodePolicies::IsNamed(const AttachmentRecord& record) const {
  return std::ranges::any_of(
      addresses_.LocalOf(record.pod),
      [&](const auto& pod) KURYR_TSA(requires_capability(mutex_)) { return IsNamed(pod.first); });
}

bool NodePolicies::IsNamed(const std::string& uid) const {
  return policies_.pods().contains(policy::MemberOf(uid, ""));
}

bool NodePolicies::IsFree(const AttachmentRecord& record) const {
  // Before the first change, the kernel has what an earlier process left.
  if (!IsComplete() || applied_ == 0 || IsNamed(record)) return false;
  return std::ranges::none_of(RoutedAddresses(record),
                              [&](const IpAddress& address) KURYR_TSA(requires_capability(mutex_)) {
                                return in_kernel_.contains(address);
                              });
}

void NodePolicies::Forget(const AttachmentKey& key) {
  const MutexLock lock(mutex_);
  const PodAddresses::Uids changed = addresses_.Unplug(key);
  const bool was_named = std::ranges::any_of(
      changed,
      [&](const std::string& uid) KURYR_TSA(requires_capability(mutex_)) { return IsNamed(uid); });
  if (Take(changed) || was_named) Wake();
}

void NodePolicies::Wake() {
  ++wanted_;
  changed_.notify_all();
}

/// Rests as long as it worked: changes that come meanwhile are one.
void NodePolicies::Run(const std::stop_token& stop) {
  auto next = Clock::now();
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      changed_.wait(mutex_, stop, [&]() KURYR_TSA(requires_capability(mutex_)) {
        return IsComplete() && (applied_ != wanted_ || is_distrusted_);
      });
      changed_.wait_until(mutex_, stop, next, [] { return false; });
    }
    if (stop.stop_requested()) return;
    const auto begin = Clock::now();
    try {
      Apply();
      next = Clock::now() + (Clock::now() - begin);
    } catch (const std::exception& e) {
      // What this try has taken of the changes is lost.
      filter_.Distrust();
      const MutexLock lock(mutex_);
      is_distrusted_ = true;
      if (failure_ != e.what())
        Log(LogLevel::kError, "the policies are not in effect", {{"error", e.what()}});
      failure_ = e.what();
      ++failures_;
      next = Clock::now() + kAgain;
    }
  }
}

void NodePolicies::Apply() {
  binding::Filter wanted;
  std::set<policy::PodSet> changed;
  uint64_t change = 0;
  bool is_distrusted = false;
  {
    const MutexLock lock(mutex_);
    // More may be watched since Run looked.
    if (!IsComplete()) return;
    const LocalPods pods = addresses_.Local();
    wanted = filters_.Make(policies_, pods);
    if (policies_.policies().empty()) {
      closed_.Clear();
    } else {
      closed_.CloseIn(wanted, pods);
    }
    in_kernel_.merge(AddressesOf(wanted));
    changed = sets_.TakeChanged();
    change = wanted_;
    is_distrusted = std::exchange(is_distrusted_, false);
  }
  if (is_distrusted && !filter_.IsThere()) {
    filter_.Distrust();
    Log(LogLevel::kWarning, "the rules of the policies were changed: they are made anew", {});
  }
  // A set may have changed since: then it changes once more.
  const auto addresses_of = [this](const std::string& set) {
    const MutexLock lock(mutex_);
    return sets_.Of(set);
  };
  filter_.Apply(wanted, addresses_of, changed);
  const MutexLock lock(mutex_);
  applied_ = change;
  in_kernel_ = AddressesOf(wanted);
  failure_.clear();
  watch_failure_.clear();
  changed_.notify_all();
}

void NodePolicies::FollowKernel(const std::stop_token& stop) {
  FollowEvents(
      stop,
      [this] {
        return binding::NftEvents(binding::kPolicyTable, [this] { return filter_.port(); });
      },
      [this](bool has_changed) {
        const MutexLock lock(mutex_);
        is_distrusted_ = is_distrusted_ || has_changed;
        changed_.notify_all();
        return has_changed;
      });
}

AgentReply NodePolicies::Describe(const std::string& pod) const {
  if (!IsWanted())
    return {.status = 1,
            .out = "this node enforces no policies: [node_network] enabled and policies say so"};
  const MutexLock lock(mutex_);
  const LocalPods found = addresses_.LocalOf(pod);
  if (found.empty())
    return {.status = 1,
            .out = Printable(pod) +
                   " is no pod for which this node forwards: kuryr-daemon status " +
                   Printable(pod) + " shows what it has"};
  std::string text;
  for (const auto& each : found) text += DescribePolicies(policies_, sets_, each);
  const std::string& failure = failure_.empty() ? watch_failure_ : failure_;
  if (!failure.empty()) return {.status = 1, .out = text + "not in effect: " + failure};
  if (!IsComplete() || applied_ != wanted_ || !IsInKernel(FilterMaker().Make(policies_, found)))
    return {.status = 1, .out = text + "not in effect yet: the kernel has other rules"};
  return {.status = 0, .out = text + "the kernel has these rules, in table inet kuryr-policy"};
}

void NodePolicies::WriteTo(service::MetricsText& text) const {
  if (!IsWanted()) return;
  const MutexLock lock(mutex_);
  text.Metric("kuryr_daemon_policies", "gauge",
              "Policies that this node enforces on its pods; 0 before its first pod.",
              static_cast<double>(policies_.policies().size()));
  text.Metric("kuryr_daemon_policies_in_effect", "gauge",
              "1 where the kernel has the policies as they are known.",
              failure_.empty() && IsComplete() ? 1 : 0);
  text.Metric("kuryr_daemon_policy_failures_total", "counter",
              "Changes of the policies' rules that the kernel refused.",
              static_cast<double>(failures_));
}

std::map<std::string, watcher::WatchMetrics> NodePolicies::WatchMetrics() const {
  return watcher_ ? watcher_->Metrics() : std::map<std::string, watcher::WatchMetrics>();
}

}  // namespace kuryr::cni
