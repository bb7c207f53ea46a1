#include "cni/agent/registry_events.h"

#include <utility>

namespace kuryr::cni {

void RegistryEvents::Start(const PodArgs& pod, watcher::EventConsumer& consumer,
                           watcher::FailureHandler on_failure) {
  pod_uid_ = pod.uid;
  consumer_ = &consumer;
  on_failure_ = std::move(on_failure);
  {
    const MutexLock lock(mutex_);
    starting_ = true;
  }
  subscription_.emplace(
      registry_, PodRegistry::KeyOf(pod.name_space, pod.name),
      [this](const watcher::WatchEvent& event) { TakeEvent(event); },
      [this](const std::exception_ptr& failure) { TakeFailure(failure); });
  // What was known when we subscribed.
  Pending known;
  {
    const MutexLock lock(mutex_);
    std::swap(known, pending_);
  }
  Tell(known);
  const MutexLock lock(mutex_);
  starting_ = false;
  if (!pending_.empty()) Wake();
}

void RegistryEvents::Stop() {
  subscription_.reset();
  std::jthread worker;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    worker = std::move(worker_);
  }
}

void RegistryEvents::TakeEvent(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  if (event.type != watcher::EventType::kDeleted) {
    pending_.present = event;
    pending_.failure = nullptr;  // the watch works again
  } else {
    if (pending_.present && pending_.present->uid == event.uid) pending_.present.reset();
    const bool is_wanted = pod_uid_.empty() ? !pending_.deleted : event.uid == pod_uid_;
    if (is_wanted) pending_.deleted = event;
  }
  Wake();
}

void RegistryEvents::TakeFailure(const std::exception_ptr& failure) {
  const MutexLock lock(mutex_);
  pending_.failure = failure;
  Wake();
}

void RegistryEvents::Wake() {
  if (stopping_ || starting_) return;
  changed_.notify_all();
  if (!worker_.joinable()) worker_ = std::jthread([this] { Work(); });
}

RegistryEvents::Pending RegistryEvents::Next() {
  const MutexLock lock(mutex_);
  while (pending_.empty() && !stopping_) changed_.wait(mutex_);
  if (stopping_) return {};
  return std::exchange(pending_, {});
}

void RegistryEvents::Tell(const Pending& pending) const {
  if (pending.deleted) consumer_->Handle(*pending.deleted);
  if (pending.present) consumer_->Handle(*pending.present);
  if (pending.failure) on_failure_(pending.failure);
}

void RegistryEvents::Work() {
  const LogScope scope(log_context_);
  for (Pending pending = Next(); !pending.empty(); pending = Next()) Tell(pending);
}

}  // namespace kuryr::cni
