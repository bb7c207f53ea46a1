#include "cni/agent/registry_events.h"

#include <utility>

namespace kuryr::cni {

void RegistryEvents::Start(const PodArgs& pod, watcher::EventConsumer& consumer,
                           watcher::FailureHandler on_failure) {
  {
    const MutexLock lock(mutex_);
    starting_ = true;
  }
  subscription_.emplace(
      registry_, PodRegistry::KeyOf(pod.name_space, pod.name),
      [this, &consumer](const watcher::WatchEvent& event) {
        Post([&consumer, event] { consumer.Handle(event); });
      },
      [this, on_failure = std::move(on_failure)](const std::exception_ptr& failure) {
        Post([on_failure, failure] { on_failure(failure); });
      });
  // What was known when we subscribed.
  std::deque<Act> known;
  {
    const MutexLock lock(mutex_);
    known.swap(acts_);
  }
  for (const Act& act : known) act();
  const MutexLock lock(mutex_);
  starting_ = false;
  if (!acts_.empty()) worker_ = std::jthread([this] { Work(); });
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

void RegistryEvents::Post(Act act) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  acts_.push_back(std::move(act));
  changed_.notify_all();
  if (!starting_ && !worker_.joinable()) worker_ = std::jthread([this] { Work(); });
}

std::optional<RegistryEvents::Act> RegistryEvents::Next() {
  const MutexLock lock(mutex_);
  while (acts_.empty() && !stopping_) changed_.wait(mutex_);
  if (stopping_) return std::nullopt;
  Act act = std::move(acts_.front());
  acts_.pop_front();
  return act;
}

void RegistryEvents::Work() {
  const LogScope scope(log_context_);
  while (const auto act = Next()) (*act)();
}

}  // namespace kuryr::cni
