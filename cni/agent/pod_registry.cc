#include "cni/agent/pod_registry.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "cni/pod/event_vifs.h"

namespace kuryr::cni {
namespace {

void LogUndecodable(const watcher::WatchEvent& event) {
  try {
    (void)VifsOf(event);
  } catch (const ParseError& e) {
    Log(LogLevel::kWarning, "undecodable object", {{"error", e.what()}});
  }
}

}  // namespace

std::vector<std::pair<watcher::KeyFn, std::string>> PodRegistry::Consumes() const {
  return {{watcher::ObjectKind, "Pod"}, {watcher::ObjectKind, "KuryrPort"}};
}

void PodRegistry::Handle(const watcher::WatchEvent& event) {
  std::optional<watcher::WatchEvent> pod;
  bool unplanned = false;
  {
    const MutexLock lock(mutex_);
    const auto [known, is_new] = pods_.try_emplace(KeyOf(event.name_space, event.name), source_);
    pod = known->second.Take(event);
    unplanned = is_new && known->second.event() && !known->second.annotated();
    if (known->second.empty()) pods_.erase(known);
    if (pod) Tell(*pod);
  }
  if (unplanned) on_unplanned_();
  if (pod && pod->type != watcher::EventType::kDeleted) LogUndecodable(*pod);
}

void PodRegistry::OnWatchFailure(const std::exception_ptr& failure) {
  const MutexLock lock(mutex_);
  for (const auto& [key, subscription] : subscriptions_) subscription->on_failure_(failure);
}

std::vector<watcher::WatchEvent> PodRegistry::pods() const {
  const MutexLock lock(mutex_);
  std::vector<watcher::WatchEvent> pods;
  pods.reserve(pods_.size());
  for (const auto& [key, known] : pods_) {
    if (auto pod = known.event()) pods.push_back(std::move(*pod));
  }
  return pods;
}

bool PodRegistry::HasPod(const std::string& uid) const {
  const MutexLock lock(mutex_);
  return std::any_of(pods_.begin(), pods_.end(),
                     [&](const auto& known) { return known.second.IsOf(uid); });
}

bool PodRegistry::empty() const {
  const MutexLock lock(mutex_);
  return pods_.empty();
}

void PodRegistry::Tell(const watcher::WatchEvent& event) {
  const auto [begin, end] = subscriptions_.equal_range(KeyOf(event.name_space, event.name));
  for (auto entry = begin; entry != end; ++entry) entry->second->listener_(event);
}

void PodRegistry::Subscribe(Subscription& subscription) {
  bool unplanned = false;
  {
    const MutexLock lock(mutex_);
    subscriptions_.emplace(subscription.key_, &subscription);
    const auto known = pods_.find(subscription.key_);
    const auto pod = known == pods_.end() ? std::nullopt : known->second.event();
    if (pod) subscription.listener_(*pod);
    unplanned = pod && !known->second.annotated();
  }
  if (unplanned) on_unplanned_();
}

void PodRegistry::Unsubscribe(Subscription& subscription) {
  const MutexLock lock(mutex_);
  const auto [begin, end] = subscriptions_.equal_range(subscription.key_);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second != &subscription) continue;
    subscriptions_.erase(entry);
    return;
  }
}

}  // namespace kuryr::cni
