#include "cni/agent/upkeep/switch_wait.h"

#include <system_error>

#include "base/log.h"

namespace kuryr::cni {
namespace {

/// The time that ovs-vswitchd has to answer.
constexpr std::chrono::seconds kSwitchAnswerTime{1};
/// How long an answer is used again: after a total loss there is one question instead of one for
/// each port.
constexpr std::chrono::seconds kAnswerHolds{1};
/// The time between two questions while ovs-vswitchd does not answer. An event comes first as a
/// rule.
constexpr std::chrono::seconds kSwitchAskEvery{10};

bool SwitchAnswers(const binding::Binding& binding, const Deadline& deadline) {
  try {
    return binding.IsOvsServed(deadline.AtMost(kSwitchAnswerTime));
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    return false;
  }
}

}  // namespace

bool SwitchWait::IsServed(Upkeep& upkeep, const UpkeepJob& job, const std::string& key,
                          const Deadline& deadline) {
  bool may_ask = false;
  {
    // An event that comes while the question is at work finds the key.
    const MutexLock lock(mutex_);
    if (Clock::now() < served_until_) return true;
    waiting_.emplace(&job, key);
    may_ask = Clock::now() >= ask_at_;
    if (may_ask) ask_at_ = Clock::now() + kSwitchAskEvery;
  }
  bool is_served = false;
  try {
    is_served = may_ask && SwitchAnswers(binding_, deadline);
  } catch (...) {
    End(upkeep);
    throw;
  }
  if (is_served) {
    {
      const MutexLock lock(mutex_);
      waiting_.erase({&job, key});
      served_until_ = Clock::now() + kAnswerHolds;
    }
    End(upkeep);
    return true;
  }
  Log(LogLevel::kDebug, "an attachment waits for Open vSwitch",
      {{"work", job.name()}, {"key", key}});
  upkeep.AddAfter(job, key, kSwitchAskEvery);
  return false;
}

void SwitchWait::End(Upkeep& upkeep) {
  const MutexLock lock(mutex_);
  for (const auto& [job, key] : waiting_) upkeep.AddAfter(*job, key, {});
  waiting_.clear();
  ask_at_ = {};
}

}  // namespace kuryr::cni
