#include "cni/agent/policy/node_policies.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "binding/netlink/nft_events.h"
#include "cni/agent/upkeep/event_thread.h"
#include "cni/attachments/process.h"
#include "cni/failure.h"
#include "cni/protocol/error.h"
#include "policy/policy_events.h"
#include "policy/policy_pod.h"
#include "vif/pod_vifs.h"

namespace kuryr::cni {
namespace {

using Clock = Deadline::Clock;

/// After a change that the kernel refused.
constexpr std::chrono::seconds kAgain{1};

/// Whether the node forwards for the interface: its link has no network.
bool IsRouted(const IpNetwork& address) {
  return address.prefix_length == 8 * address.address.size();
}

std::set<IpAddress> RoutedAddresses(const AttachmentRecord& record) {
  std::set<IpAddress> addresses;
  for (const vif::PodVif& vif : record.vifs) {
    if (!vif.is_default) continue;
    for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif)))
      if (IsRouted(address)) addresses.insert(address.address);
  }
  return addresses;
}

/// The addresses of a pod that runs; none of one that has ended, whose addresses another pod gets.
std::set<IpAddress> ToldAddresses(const nlohmann::json& pod) {
  std::set<IpAddress> addresses;
  const nlohmann::json& status = MemberAt(pod, "status");
  const std::string phase = StringAt(status, "phase");
  if (phase == "Succeeded" || phase == "Failed") return addresses;
  for (const nlohmann::json& entry : MemberAt(status, "podIPs"))
    if (const auto address = IpAddress::Parse(StringAt(entry, "ip"))) addresses.insert(*address);
  return addresses;
}

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

/// Removes the rules of a configuration that wanted policies. An agent that may not do so answers
/// calls and health nevertheless.
void RemoveRules() {
  try {
    binding::RemovePodFilter();
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "the policies' rules stay", {{"error", e.what()}});
  }
}

}  // namespace

NodePolicies::NodePolicies(const Config& config, const AttachmentStore& attachments)
    : config_(config), attachments_(attachments) {
  pipeline_.Register(*this);
}

bool NodePolicies::IsWanted() const noexcept {
  return config_.node_network.enabled && config_.node_network.policies;
}

void NodePolicies::Start() {
  if (!IsWanted()) return RemoveRules();
  watcher_.emplace(config_.api, pipeline_,
                   [this](const std::exception_ptr& failure) { OnFailure(AsCniError(failure)); });
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
  const auto begins = [&](Watched level) { return watched_ < level && level <= what; };
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
void NodePolicies::OnFailure(const std::exception& failure) {
  const std::string text = std::string("policies cannot be watched: ") + failure.what() +
                           " (etc/kubernetes/rbac.yaml has the rights)";
  const MutexLock lock(mutex_);
  if (watch_failure_ != text)
    Log(LogLevel::kWarning, "the policies may be out of date", {{"error", text}});
  watch_failure_ = text;
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
  if (event.kind == "Pod") LearnPod(event);
  const policy::PolicyChanges changes = policy::Compile(compiler_, event);
  policies_.Apply(changes);
  for (const auto& [member, sets] : changes.pods) sets_.SetSets(member, sets);
  if (!changes.policies.empty() && listed_ != Watched::kNothing) WatchWhatPoliciesName();
  Wake();
}

void NodePolicies::LearnPod(const watcher::WatchEvent& event) {
  if (event.type == watcher::EventType::kDeleted) {
    told_.erase(event.uid);
    // A plugin that worked alone has not told of its DEL.
    std::erase_if(local_, [&](const auto& pod) { return pod.second.uid == event.uid; });
  } else if (MemberAt(MemberAt(*event.object, "spec"), "hostNetwork") != true) {
    told_[event.uid] = ToldAddresses(*event.object);
  }
  LearnAddresses(event.uid);
}

/// The node knows the addresses of its own new pods before their status tells them.
void NodePolicies::LearnAddresses(const std::string& uid) {
  std::set<IpAddress> addresses;
  if (const auto told = told_.find(uid); told != told_.end()) addresses = told->second;
  for (const auto& [key, pod] : local_)
    if (pod.uid == uid) addresses.insert(pod.addresses.begin(), pod.addresses.end());
  sets_.SetAddressesOf(uid, addresses);
}

void NodePolicies::Learn(const AttachmentRecord& record) {
  LocalPod pod = {.uid = record.pod_uid, .addresses = RoutedAddresses(record)};
  if (pod.addresses.empty()) return;
  const std::string key = ToString(record.key);
  std::vector<std::string> changed = {pod.uid};
  for (auto& [other, known] : local_) {
    // The address has a new pod: the node was not told of the end of the former one.
    if (other != key && std::erase_if(known.addresses, [&](const IpAddress& address) {
                          return pod.addresses.contains(address);
                        }) > 0)
      changed.push_back(known.uid);
  }
  local_.insert_or_assign(key, std::move(pod));
  for (const std::string& uid : changed) LearnAddresses(uid);
  Watch(Watched::kPolicies);
  Wake();
}

void NodePolicies::Admit(const AttachmentRecord& record, const Deadline& deadline) {
  if (!IsWanted() || RoutedAddresses(record).empty()) return;
  MutexLock lock(mutex_);
  Learn(record);
  const uint64_t change = wanted_;
  const std::stop_source never;
  changed_.wait_until(mutex_, never.get_token(), deadline.at,
                      [&]() KURYR_TSA(requires_capability(mutex_)) { return applied_ >= change; });
  if (applied_ >= change) return;
  const std::string& failure = failure_.empty() ? watch_failure_ : failure_;
  throw CniError(ErrorCode::kTryAgainLater,
                 "the policies of pod " + record.pod + " are not in effect on this node yet",
                 failure.empty() ? "policies, namespaces and pods are not listed yet" : failure);
}

void NodePolicies::Forget(const AttachmentKey& key) {
  const MutexLock lock(mutex_);
  const auto pod = local_.find(ToString(key));
  if (pod == local_.end()) return;
  const std::string uid = pod->second.uid;
  local_.erase(pod);
  LearnAddresses(uid);
  Wake();
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
  LocalPods local;
  binding::Filter wanted;
  std::set<policy::PodSet> changed;
  uint64_t change = 0;
  bool is_distrusted = false;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, pod] : local_)
      local[pod.uid].insert(pod.addresses.begin(), pod.addresses.end());
    wanted = FilterOf(policies_, local);
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
  failure_.clear();
  watch_failure_.clear();
  changed_.notify_all();
}

void NodePolicies::FollowKernel(const std::stop_token& stop) {
  FollowEvents(
      stop, [] { return binding::NftEvents(binding::kPolicyTable); },
      [this](bool has_changed) {
        const MutexLock lock(mutex_);
        is_distrusted_ = is_distrusted_ || has_changed;
        changed_.notify_all();
        return has_changed;
      });
}

void NodePolicies::WriteTo(service::MetricsText& text) const {
  if (!IsWanted()) return;
  const MutexLock lock(mutex_);
  text.Metric("kuryr_cni_policies", "gauge",
              "Policies that this node enforces on its pods; 0 before its first pod.",
              static_cast<double>(policies_.policies().size()));
  text.Metric("kuryr_cni_policies_in_effect", "gauge",
              "1 where the kernel has the policies as they are known.",
              failure_.empty() && IsComplete() ? 1 : 0);
  text.Metric("kuryr_cni_policy_failures_total", "counter",
              "Changes of the policies' rules that the kernel refused.",
              static_cast<double>(failures_));
}

std::map<std::string, watcher::WatchMetrics> NodePolicies::WatchMetrics() const {
  return watcher_ ? watcher_->Metrics() : std::map<std::string, watcher::WatchMetrics>();
}

}  // namespace kuryr::cni
