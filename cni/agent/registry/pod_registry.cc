#include "cni/agent/registry/pod_registry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "cni/failure.h"

namespace kuryr::cni {
namespace {

size_t MarkOf(const KnownPod& known) {
  const auto pod = known.pod();
  return pod ? pod->plan_mark : 0;
}

}  // namespace

std::vector<std::pair<watcher::KeyFn, std::string>> PodRegistry::Consumes() const {
  return {{watcher::ObjectKind, "Pod"}, {watcher::ObjectKind, "KuryrPort"}};
}

void PodRegistry::Handle(const watcher::WatchEvent& event) {
  using Change = KnownPod::Change;
  const std::string key = KeyOf(event.name_space, event.name);
  std::optional<PlannedPod> changed;
  int follow = 0;
  {
    const MutexLock lock(mutex_);
    // A KuryrPort that was asked for, and whose pod has gone meanwhile.
    if (event.kind != "Pod" && !pods_.contains(key)) return;
    KnownPod& known = pods_.try_emplace(key, source_).first->second;
    const size_t before = known.bytes();
    const size_t mark = MarkOf(known);
    const Change change = known.Learn(event);
    Account(key, known, before);
    if (change == Change::kPresent) {
      changed = known.pod();
      Tell(key, [&](PodHandler& handler) { handler.OnPresent(*changed); });
      follow = static_cast<int>(BeginToFollow(key, known));
    } else if (change == Change::kGone) {
      Tell(key, [&](PodHandler& handler) { handler.OnDeleted(event.uid); });
    }
    follow += Reread(event, known, mark);
    if (known.empty()) pods_.erase(key);
  }
  for (; follow > 0; --follow) hooks_.follow(key);
  for (; follow < 0; ++follow) hooks_.unfollow(key);
  if (changed && hooks_.changed) hooks_.changed(key);
  if (changed && changed->plan && changed->plan->problem)
    Log(LogLevel::kWarning, "undecodable object", {{"error", changed->plan->problem->what()}});
}

void PodRegistry::Account(const std::string& key, KnownPod& known, size_t before) {
  planned_bytes_ = planned_bytes_ - before + known.bytes();
  if (planned_bytes_ <= kMostPlanned || known.bytes() <= kUsualPlan) return;
  planned_bytes_ -= known.bytes();
  known.RefusePlans(key, "has " + std::to_string(known.bytes()) +
                             " bytes of values, and those of the " + "node's pods have " +
                             std::to_string(planned_bytes_) + " of at most " +
                             std::to_string(kMostPlanned));
}

int PodRegistry::Reread(const watcher::WatchEvent& event, const KnownPod& known, size_t mark) {
  const std::string key = KeyOf(event.name_space, event.name);
  const auto waiting = rereads_.find(key);
  const size_t now = MarkOf(known);
  if (event.kind == "Pod" && now != 0 && now != mark && !known.annotated()) {
    ++rereads_[key];
    return 1;
  }
  if (waiting == rereads_.end()) return 0;
  if (!known.pod()) {
    const int all = waiting->second;
    rereads_.erase(waiting);
    return -all;
  }
  if (event.kind == "Pod" || !known.complete()) return 0;
  if (--waiting->second == 0) rereads_.erase(waiting);
  return -1;
}

unsigned PodRegistry::BeginToFollow(const std::string& key, const KnownPod& known) {
  unsigned count = 0;
  if (known.complete()) return count;
  const auto [begin, end] = subscriptions_.equal_range(key);
  for (auto entry = begin; entry != end; ++entry)
    if (!std::exchange(entry->second->follows_, true)) ++count;
  return count;
}

void PodRegistry::OnWatchFailure(const std::exception_ptr& failure) {
  const MutexLock lock(mutex_);
  for (const auto& [key, subscription] : subscriptions_)
    subscription->handler_.OnWatchFailure(failure);
}

void PodRegistry::OnPortFailure(const std::exception_ptr& failure) {
  const std::exception_ptr passing = AsPassing(failure);
  const MutexLock lock(mutex_);
  for (const auto& [key, subscription] : subscriptions_) {
    if (subscription->follows_) subscription->handler_.OnWatchFailure(passing);
  }
}

std::vector<PlannedPod> PodRegistry::pods() const {
  const MutexLock lock(mutex_);
  std::vector<PlannedPod> pods;
  pods.reserve(pods_.size());
  for (const auto& [key, known] : pods_) {
    if (auto pod = known.pod()) pods.push_back(std::move(*pod));
  }
  return pods;
}

std::optional<PlannedPod> PodRegistry::Find(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto known = pods_.find(key);
  return known == pods_.end() ? std::nullopt : known->second.pod();
}

bool PodRegistry::HasPod(const std::string& uid) const {
  const MutexLock lock(mutex_);
  return std::any_of(pods_.begin(), pods_.end(),
                     [&](const auto& known) { return known.second.IsOf(uid); });
}

bool PodRegistry::IsComplete(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto known = pods_.find(key);
  return known == pods_.end() || known->second.complete();
}

bool PodRegistry::empty() const {
  const MutexLock lock(mutex_);
  return pods_.empty();
}

void PodRegistry::Tell(const std::string& key, const std::function<void(PodHandler&)>& what) {
  const auto [begin, end] = subscriptions_.equal_range(key);
  for (auto entry = begin; entry != end; ++entry) what(entry->second->handler_);
}

/// The KuryrPort that an earlier ADD was told of may have changed since.
void PodRegistry::Subscribe(Subscription& subscription) {
  unsigned follow = 0;
  {
    const MutexLock lock(mutex_);
    subscriptions_.emplace(subscription.key_, &subscription);
    const auto known = pods_.find(subscription.key_);
    if (known == pods_.end()) return;
    const size_t before = known->second.bytes();
    known->second.ForgetPort();
    Account(known->first, known->second, before);
    if (const auto pod = known->second.pod()) subscription.handler_.OnPresent(*pod);
    follow = BeginToFollow(subscription.key_, known->second);
  }
  for (; follow > 0; --follow) hooks_.follow(subscription.key_);
}

void PodRegistry::Unsubscribe(Subscription& subscription) {
  {
    const MutexLock lock(mutex_);
    const auto [begin, end] = subscriptions_.equal_range(subscription.key_);
    const auto entry = std::find_if(
        begin, end, [&](const auto& subscribed) { return subscribed.second == &subscription; });
    if (entry != end) subscriptions_.erase(entry);
  }
  if (subscription.follows_) hooks_.unfollow(subscription.key_);
}

}  // namespace kuryr::cni
