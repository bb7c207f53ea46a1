#include "cni/agent/registry/registry_events.h"

#include <utility>

namespace kuryr::cni {

void RegistryEvents::Start(const PodArgs& pod, PodHandler& handler) {
  pod_uid_ = pod.uid;
  handler_ = &handler;
  {
    const MutexLock lock(mutex_);
    starting_ = true;
  }
  PodHandler& heard = *this;
  subscription_.emplace(registry_, PodRegistry::KeyOf(pod.name_space, pod.name), heard);
  // The state at the time of the subscription.
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

void RegistryEvents::OnPresent(const PlannedPod& pod) {
  const MutexLock lock(mutex_);
  pending_.present = pod;
  pending_.failure = nullptr;  // the watch works again
  Wake();
}

void RegistryEvents::OnDeleted(const std::string& uid) {
  const MutexLock lock(mutex_);
  if (pending_.present && pending_.present->uid == uid) pending_.present.reset();
  const bool is_wanted = pod_uid_.empty() ? !pending_.deleted : uid == pod_uid_;
  if (is_wanted) pending_.deleted = uid;
  Wake();
}

void RegistryEvents::OnWatchFailure(const std::exception_ptr& failure) {
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
  if (pending.deleted) handler_->OnDeleted(*pending.deleted);
  if (pending.present) handler_->OnPresent(*pending.present);
  if (pending.failure) handler_->OnWatchFailure(pending.failure);
}

void RegistryEvents::Work() {
  const LogScope scope(log_context_);
  for (Pending pending = Next(); !pending.empty(); pending = Next()) Tell(pending);
}

}  // namespace kuryr::cni
