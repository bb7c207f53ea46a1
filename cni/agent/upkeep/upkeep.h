#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "cni/attachments/attachment_record.h"
#include "service/work_queue.h"

namespace kuryr::cni {

class Upkeep;

/// One kind of work of the upkeep. A key says what to work on: an attachment (ToString), or the
/// job's own word.
class UpkeepJob {
 public:
  virtual ~UpkeepJob() = default;

  /// Without blanks, and no other job's.
  [[nodiscard]] virtual const char* name() const = 0;
  /// Adds the keys that the job begins with.
  virtual void Begin(Upkeep& upkeep) = 0;
  /// Whether several keys may be tried at once. All other jobs have one thread.
  [[nodiscard]] virtual bool is_parallel() const { return false; }
  /// Works on a key. False, or an exception: it is tried again, after a delay that grows. The
  /// deadline is cancelled when an ADD or DEL of the attachment begins.
  [[nodiscard]] virtual bool Try(Upkeep& upkeep, const std::string& key,
                                 const Deadline& deadline) = 0;
};

/// The agent's work that no call asks for. Two jobs never try the same key at once. Thread-safe.
class Upkeep {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins with all of `jobs`, which are borrowed.
  explicit Upkeep(std::vector<UpkeepJob*> jobs);
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;
  /// Cancels the try at work. What is not done by then stays so.
  ~Upkeep();

  /// Has `job` try `key` after `delay`, or earlier where that was wanted.
  void AddAfter(const UpkeepJob& job, const std::string& key, Clock::duration delay);
  /// Has `job` try `key` after a delay that grows from one try to the next.
  void AddRateLimited(const UpkeepJob& job, const std::string& key);

  /// For its lifetime, an ADD's or DEL's, no job touches the attachment. A try at work is cancelled
  /// and waited for.
  class Pause {
   public:
    Pause(Upkeep& upkeep, const AttachmentKey& key);
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();

   private:
    Upkeep& upkeep_;
    const std::string key_;
  };

 private:
  /// A repair mostly waits for ovs-vswitchd, which applies all that came meanwhile at once.
  static constexpr size_t kMostHelpers = 32;

  struct Helper {
    std::jthread thread;
    bool is_busy = false;
  };

  [[nodiscard]] service::WorkQueue& QueueOf(const UpkeepJob& job) {
    return job.is_parallel() ? parallel_ : serial_;
  }
  void RunSerial(const std::stop_token& stop);
  /// Tries a single key itself, and gives several to helpers.
  void RunParallel(const std::stop_token& stop);
  /// Waits for an idle helper. False where the system has no thread for it.
  [[nodiscard]] bool Help(const std::string& item, const std::stop_token& stop) EXCLUDES(mutex_);
  void Do(service::WorkQueue& queue, const std::string& item, const std::stop_token& stop);
  [[nodiscard]] bool Try(const std::string& item, const std::stop_token& stop) EXCLUDES(mutex_);
  /// False where the key is paused. Waits while another job works on it.
  [[nodiscard]] bool BeginWork(const std::string& key, const EventFd& cancel) EXCLUDES(mutex_);
  [[nodiscard]] UpkeepJob& JobOf(const std::string& name) const;

  const std::vector<UpkeepJob*> jobs_;
  // Items are a job's name, a blank, and a key of the job.
  service::WorkQueue serial_;
  service::WorkQueue parallel_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> paused_ GUARDED_BY(mutex_);
  std::map<std::string, const EventFd*> at_work_ GUARDED_BY(mutex_);  ///< cancels the key's try
  std::array<Helper, kMostHelpers> helpers_ GUARDED_BY(mutex_);
  std::array<std::jthread, 2> threads_;  // last: they use all of the above
};

}  // namespace kuryr::cni
