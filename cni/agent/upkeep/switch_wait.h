#pragma once

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "binding/drivers/binding.h"
#include "cni/agent/upkeep/upkeep.h"

namespace kuryr::cni {

/// The upkeep's work that waits for Open vSwitch. While ovs-vswitchd or its database is down, one
/// key asks every few seconds, and the others wait without a question. Thread-safe.
class SwitchWait {
 public:
  /// `binding` is borrowed.
  explicit SwitchWait(const binding::Binding& binding) : binding_(binding) {}

  /// Whether ovs-vswitchd answers within a second, or has done so in the last one. If not, `job`
  /// tries `key` again when it does.
  /// Throws std::system_error when `deadline` is cancelled.
  [[nodiscard]] bool IsServed(Upkeep& upkeep, const UpkeepJob& job, const std::string& key,
                              const Deadline& deadline) EXCLUDES(mutex_);
  /// Open vSwitch may be back: all keys that wait are tried.
  void End(Upkeep& upkeep) EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  const binding::Binding& binding_;
  Mutex mutex_;
  std::set<std::pair<const UpkeepJob*, std::string>> waiting_ GUARDED_BY(mutex_);
  Clock::time_point ask_at_ GUARDED_BY(mutex_);
  Clock::time_point served_until_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::cni
