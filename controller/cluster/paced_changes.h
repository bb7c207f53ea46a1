#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "watcher/watch_event.h"

namespace kuryr::controller {

/// Passes the cluster's changes on, and those of one tenant no faster than others can bear. Each
/// change costs its lane a pause, which grows with the work that the change was. Lanes have a
/// credit of pauses. Once it is used up, changes wait, each object with its last state alone, in
/// the order in which the objects first changed. An object that changes again while it waits makes
/// the pauses longer. A lane is idle when it has paid for all: then its next change passes at once.
///
/// Pods that come or go cost only what has to be read again because of them: nothing where no
/// policy is for them. Those that wait pass together for the price of one change. Their status
/// costs nothing. All that is of pods passes nothing of its lane that waits: so a pod is planned
/// with the policies that came before it. Nodes and KuryrPorts always pass. Not thread-safe.
class PacedChanges {
 public:
  using Clock = std::chrono::steady_clock;

  /// The pause for a unit of work, which stands for what follows in other programs: a policy of
  /// 1,000 blocks costs this one some ms, and OVN on all nodes a second.
  static constexpr int kPausesPerWork = 200;
  /// The pause for each peer of a rule that is read again: OVN needs some 10 microseconds on each
  /// node where such a pod is.
  static constexpr std::chrono::microseconds kPausePerPeer{120};
  static constexpr std::chrono::milliseconds kLeastPause{5};
  static constexpr std::chrono::seconds kMostPause{60};
  static constexpr std::chrono::seconds kCredit{5};
  static constexpr unsigned kMostDoublings = 3;
  /// Pods that pass together: others' changes wait until all are taken.
  static constexpr size_t kMostTogether = 500;
  /// A change that has waited so long is told of.
  static constexpr std::chrono::seconds kLong{10};

  struct Hooks {
    std::function<void(const watcher::WatchEvent& event)> take;
    /// A change of this lane has waited for long; told once until the lane is idle.
    std::function<void(const std::string& lane)> tell = [](const std::string&) {};
    std::function<Clock::time_point()> now = Clock::now;
    /// The processor time that the calling thread has had.
    std::function<std::chrono::nanoseconds()> worked = ThreadTime;
    /// The peers that are read again because of what was taken since the last call.
    std::function<uint64_t()> take_peers = [] { return uint64_t{0}; };
  };
  explicit PacedChanges(Hooks hooks) : hooks_(std::move(hooks)) {}

  /// Passes the event on, or keeps it until PassDue. Throws what `take` throws.
  void Handle(const watcher::WatchEvent& event);
  /// Passes on what may pass now. Logs what `take` throws.
  void PassDue();
  /// When PassDue has something to do; nullopt: nothing waits.
  [[nodiscard]] std::optional<Clock::time_point> Next() const;
  /// As PassDue, but all that waits. Forgets what was paid: later events may pass elsewhere.
  void PassAll();

  /// The lane's change that has waited longest.
  struct Waiting {
    watcher::WatchEvent event;
    std::chrono::seconds pause;  ///< the last one of the lane
  };
  [[nodiscard]] std::optional<Waiting> FirstOf(const std::string& lane) const;

  struct Figures {
    size_t waiting = 0;        ///< changes
    size_t lanes = 0;          ///< in which changes wait
    Clock::duration oldest{};  ///< how long the first of them has waited
    uint64_t kept = 0;         ///< changes that had to wait, also those that another one replaced
  };
  [[nodiscard]] Figures figures() const;

  [[nodiscard]] static std::chrono::nanoseconds ThreadTime();

 private:
  enum class Price { kNothing, kPeers, kAll };
  using ObjectKey = std::tuple<std::string, std::string, std::string, std::string>;
  struct Kept {
    watcher::WatchEvent event;
    Clock::time_point since;
  };
  struct Lane {
    Clock::time_point paid_at;  ///< when all pauses so far are over
    Clock::duration pause{};    ///< the last one
    unsigned doublings = 0;
    bool has_repeated = false;  ///< an object has changed again since the last change passed
    bool is_told = false;
    std::list<Kept> kept;
    std::map<ObjectKey, std::list<Kept>::iterator> by_object;
  };
  using Lanes = std::map<std::string, Lane>;
  /// What a pod was when it last passed.
  struct Pod {
    size_t wishes = 0;  ///< a hash
    bool has_node = false;
  };

  [[nodiscard]] static ObjectKey KeyOf(const watcher::WatchEvent& event);
  [[nodiscard]] Price PriceOf(const watcher::WatchEvent& event) const;
  void NotePod(const watcher::WatchEvent& event);
  void Keep(const watcher::WatchEvent& event, Lanes::value_type& lane);
  void Pass(const watcher::WatchEvent& event, Lane& lane);
  void Pay(Lane& lane, const std::function<void()>& pass, bool pays_all);
  void PassFirst(Lane& lane);
  void TakeFirst(Lane& lane);
  void TellIfLong(Lanes::value_type& lane);
  void Sweep();

  const Hooks hooks_;
  Lanes lanes_;                                ///< that are not idle
  std::set<std::string> waiting_;              ///< lanes with changes that wait
  std::unordered_map<std::string, Pod> pods_;  ///< by UID
  uint64_t kept_ = 0;
  Clock::time_point sweep_at_;
};

/// The lane of a change, in words for people: "namespace team-a". A namespace's Services and its
/// labels have lanes beside that of all else in it; all admins' policies have one. nullopt: the
/// change always passes.
[[nodiscard]] std::optional<std::string> LaneOf(const watcher::WatchEvent& event);

}  // namespace kuryr::controller
