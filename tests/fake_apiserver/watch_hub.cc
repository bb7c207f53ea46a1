#include "tests/fake_apiserver/watch_hub.h"

#include <utility>

namespace kuryr::fake {

OpenWatch::OpenWatch(WatchHub& hub) : hub_(hub) {
  const MutexLock lock(hub_.mutex_);
  hub_.watches_.insert(this);
}

OpenWatch::~OpenWatch() {
  const MutexLock lock(hub_.mutex_);
  hub_.watches_.erase(this);
  hub_.ready_.erase(this);
  hub_.changed_.notify_all();
}

void OpenWatch::MarkReady() {
  const MutexLock lock(hub_.mutex_);
  hub_.ready_.insert(this);
  hub_.changed_.notify_all();
}

std::vector<WatchCommand> OpenWatch::TakeCommands() {
  signal_.Clear();
  const MutexLock lock(mutex_);
  return std::exchange(commands_, {});
}

void WatchHub::NotifyAll() {
  const MutexLock lock(mutex_);
  for (OpenWatch* watch : watches_) watch->signal_.Set();
}

void WatchHub::CommandAll(const WatchCommand& command) {
  const MutexLock lock(mutex_);
  for (OpenWatch* watch : watches_) {
    {
      const MutexLock watch_lock(watch->mutex_);
      watch->commands_.push_back(command);
    }
    watch->signal_.Set();
  }
}

bool WatchHub::WaitForCount(size_t count, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mutex_);
  while (ready_.size() != count) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) {
      return ready_.size() == count;
    }
  }
  return true;
}

}  // namespace kuryr::fake
