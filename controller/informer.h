#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/cluster/paced_changes.h"
#include "controller/config.h"
#include "controller/kind_table.h"
#include "watcher/event_pipeline.h"
#include "watcher/watcher.h"

namespace kuryr::controller {

/// A controller's knowledge of the cluster, whether or not it leads: it watches the kinds of
/// KindTable from its start on. While it leads, PacedChanges stands before all that takes events.
/// Thread-safe.
class Informer : private watcher::EventHandler {
 public:
  /// Borrows the configuration.
  explicit Informer(const Config& config);
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;
  ~Informer() override { watcher_.Stop(); }

  /// Begins to watch, for a standby. A leader does so by Lead, and then everything is listed once.
  void Start() { watcher_.Start(); }

  /// The leader of this process.
  struct Leader {
    Term term;
    controller::Wake wake;
    std::function<void()> begin;  ///< called once, in a watch's thread: all that is planned now is
                                  ///< known, and the backend has been told of it
  };
  /// Before `begin`, the stores have all earlier writes of other leaders.
  void Lead(Leader leader) EXCLUDES(mutex_);
  /// After the return, the leader with this backend gets no calls. Another leader is not affected.
  void Follow(const Backend& backend) EXCLUDES(mutex_);

  /// Everything has been listed, and the API server answers.
  [[nodiscard]] bool IsWarm() const { return lists_missing_ <= 0 && IsAlive(); }
  [[nodiscard]] bool IsAlive() const { return watcher_.IsAlive(); }

  /// By path.
  [[nodiscard]] std::map<std::string, watcher::WatchMetrics> WatchMetrics() const {
    return watcher_.Metrics();
  }
  /// Asks for resources that the API server did not have: they may exist now.
  void AskForAbsent() { watcher_.AskForAbsent(); }

  /// The kind of keys whose objects are lanes: a change of the lane waits long.
  static constexpr std::string_view kLane = "waits";
  /// The lane's change that has waited longest.
  [[nodiscard]] std::optional<PacedChanges::Waiting> FindWaiting(const std::string& lane)
      EXCLUDES(mutex_);
  [[nodiscard]] PacedChanges::Figures paced() EXCLUDES(mutex_);

  [[nodiscard]] KindTable& kinds() noexcept { return kinds_; }

 private:
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  void Watch(const WatchedPath& path);
  void Wake(const Key& key) REQUIRES(mutex_);
  void EndLeader() REQUIRES(mutex_);
  void PassDue(const std::stop_token& stop) EXCLUDES(mutex_);
  void OnCaughtUp(const std::shared_ptr<const Leader>& leader) EXCLUDES(mutex_);

  std::atomic<int> lists_missing_ = 0;
  Mutex mutex_;  ///< held while the stores take events and tell a leader
  std::shared_ptr<const Leader> next_ GUARDED_BY(mutex_);  ///< the stores catch up for this leader
  std::shared_ptr<const Leader> leader_
      GUARDED_BY(mutex_);  ///< null until the stores have caught up
  KindTable kinds_;
  watcher::EventPipeline pipeline_;
  PacedChanges changes_ GUARDED_BY(mutex_);
  std::condition_variable_any kept_;  ///< `changes_` keeps one more
  watcher::Watcher watcher_;          // it uses all of the above
  std::jthread pacer_;                // last: it does, too
};

}  // namespace kuryr::controller
