#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/thread_annotations.h"
#include "controller/owners/writer.h"
#include "controller/plan/plan_request.h"
#include "controller/rounds/event_rate.h"
#include "watcher/pod_event.h"

namespace kuryr::controller {

/// The reason for a pod that waits for an address. Its message has counts of addresses.
inline constexpr const char* kNoFreeAddress = "KuryrNoFreeAddress";
/// The reason for a pod whose active plan has lost its port.
inline constexpr const char* kPortLost = "KuryrPortLost";
/// The reason for a node whose problem is over.
inline constexpr const char* kNodeServed = "KuryrNodeServed";

/// Tells why pods and nodes have no plan: by Events for people, and as present problems for
/// metrics. A problem is told again after half an hour; numbers in kNoFreeAddress messages do not
/// count. A pod's user may change its messages at any time, so EventRate limits its Events; the
/// rest is told later. Thread-safe; each caller passes its own Writer.
class Reporter {
 public:
  using Clock = std::chrono::system_clock;

  struct Problem {
    std::string uid;      ///< the owner's
    std::string reason;   ///< one word, CamelCase
    std::string message;  ///< for people
    Clock::time_point since;
    std::string told_reason;  ///< the last Event: its reason, message and time
    std::string told_message;
    Clock::time_point told;
  };
  /// The API server deletes Events after an hour.
  static constexpr std::chrono::minutes kAgain{30};

  /// Without `use_events`, only the log is written. A lasting problem is told again after `again`.
  explicit Reporter(bool use_events, std::chrono::seconds again = kAgain)
      : use_events_(use_events), again_(again) {}

  /// Tells why the owner has no plan. Never fails because an Event could not be written.
  void Report(const Owner& owner, const std::string& reason, const std::string& message,
              Writer& writer) EXCLUDES(mutex_);
  /// Tells something about the owner that is no problem, at once.
  void Tell(const Owner& owner, const std::string& reason, const std::string& message,
            Writer& writer) EXCLUDES(mutex_);
  /// Tells of an object that owns no VIFs. All of a namespace share one limit of Events.
  void TellOf(const watcher::EventSubject& subject, const std::string& reason,
              const std::string& message, Writer& writer) EXCLUDES(mutex_);
  /// Forgets the problem under the key: it is solved, or its owner is gone. False if it had none.
  bool Clear(const std::string& key) EXCLUDES(mutex_);

  /// The problems of now, by key.
  [[nodiscard]] std::map<std::string, Problem> problems() const EXCLUDES(mutex_);

 private:
  void WriteEvent(const watcher::EventSubject& subject, const std::string& node,
                  const watcher::PodEvent& event, Writer& writer) const;
  /// Notes the problem. False if it was told already, or the pod has had its Events.
  [[nodiscard]] bool IsNews(const Owner& owner, const std::string& reason,
                            const std::string& message) EXCLUDES(mutex_);

  const bool use_events_;
  const std::chrono::seconds again_;
  mutable Mutex mutex_;
  std::map<std::string, Problem> problems_ GUARDED_BY(mutex_);
  EventRate rate_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
