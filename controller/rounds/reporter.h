#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/thread_annotations.h"
#include "controller/owners/pod_facts.h"
#include "controller/owners/writer.h"
#include "controller/rounds/event_rate.h"
#include "watcher/pod_event.h"

namespace kuryr::controller {

/// The reason of a pod that waits for an address. Its message counts those that others have.
inline constexpr const char* kNoFreeAddress = "KuryrNoFreeAddress";
/// The reason of a pod whose active plan carries nothing any more.
inline constexpr const char* kPortLost = "KuryrPortLost";

/// Why pods have no plan: an Event on each that a person understands, for each reason and message
/// once in half an hour, numbers of kNoFreeAddress apart; and for metrics what fails now. Messages
/// have text of the pod's user, who may change it all the time: of one pod EventRate tells so many,
/// and what remains is told later. Thread-safe; a Writer is its caller's own.
class Reporter {
 public:
  using Clock = std::chrono::system_clock;

  struct Problem {
    std::string uid;      ///< the pod's
    std::string reason;   ///< one word, CamelCase
    std::string message;  ///< for people
    Clock::time_point since;
    std::string told_reason;  ///< these two and when, of what was told last
    std::string told_message;
    Clock::time_point told;
  };
  /// The API server forgets an Event after an hour.
  static constexpr std::chrono::minutes kAgain{30};

  /// `use_events`: or the log alone. `again`: after that time, what is still so is told once more.
  explicit Reporter(bool use_events, std::chrono::seconds again = kAgain)
      : use_events_(use_events), again_(again) {}

  /// The pod has no plan, because. What it throws is the caller's to forget: Events are a service.
  void Report(const PodFacts& pod, const std::string& reason, const std::string& message,
              Writer& writer) EXCLUDES(mutex_);
  /// What a person may want to know of it, at once: it is no problem.
  void Tell(const PodFacts& pod, const std::string& reason, const std::string& message,
            Writer& writer) EXCLUDES(mutex_);
  /// All is well with it, or it is gone. False when nothing was wrong.
  bool Clear(const std::string& key) EXCLUDES(mutex_);

  /// By key, of those that fail now.
  [[nodiscard]] std::map<std::string, Problem> problems() const EXCLUDES(mutex_);

 private:
  void WriteEvent(const PodFacts& pod, const watcher::PodEvent& event, Writer& writer) const;
  /// False when it is known already.
  [[nodiscard]] bool IsNews(const PodFacts& pod, const std::string& reason,
                            const std::string& message) EXCLUDES(mutex_);

  const bool use_events_;
  const std::chrono::seconds again_;
  mutable Mutex mutex_;
  std::map<std::string, Problem> problems_ GUARDED_BY(mutex_);
  EventRate rate_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
