#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/event_fd.h"
#include "base/thread_annotations.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/facets.h"
#include "controller/backends/ovn/southbound/chassis_roster.h"
#include "ovsdb/replica.h"

namespace kuryr::controller::ovn {

/// Follows the chassis in OVN's southbound database. From Begin on, a thread removes each chassis
/// that has this cluster's mark and whose machine the cluster no longer has: the API server says
/// so, before and after the grace. A chassis that comes back is of a machine that runs, and stays.
/// No other row is written. Thread-safe.
class Southbound final : public ChassisKeeper {
 public:
  struct Parts {
    std::string remotes;  ///< ovsdb(7), with commas between the servers of a cluster
    std::string cluster;  ///< as in ChassisMark
    BackendHooks hooks;   ///< without find_machine, nothing is removed
    /// How long a chassis has to be of no machine before it is removed.
    std::chrono::milliseconds grace = std::chrono::minutes(1);
  };

  explicit Southbound(Parts parts);
  ~Southbound() override;
  Southbound(const Southbound&) = delete;
  Southbound& operator=(const Southbound&) = delete;

  /// All nodes of the cluster have been set. Called once.
  void Begin() EXCLUDES(mutex_);

  void SetNode(const MachineOfNode& node) override EXCLUDES(mutex_);
  void RemoveNode(const std::string& name) override EXCLUDES(mutex_);
  [[nodiscard]] std::optional<std::string> FindProblem(const std::string& node) const override
      EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  void Work(const std::stop_token& stop);
  /// Compares nodes and chassis anew. Returns when there is more to do without news.
  Clock::time_point Look() EXCLUDES(mutex_);
  /// Takes over what was assessed, and returns the names of nodes whose problem has changed.
  [[nodiscard]] std::set<std::string> Learn(ChassisRoster::Assessment found) REQUIRES(mutex_);
  /// The first chassis whose grace is over.
  [[nodiscard]] std::optional<ChassisRoster::Stale> FindDue(Clock::time_point now) const
      REQUIRES(mutex_);
  [[nodiscard]] bool IsConfirmed(const ChassisRoster::Stale& chassis) const;
  void Remove(const ChassisRoster::Stale& chassis);
  void OnAnswer(const nlohmann::json& results);

  struct Candidate {
    ChassisRoster::Stale chassis;
    Clock::time_point due;
  };

  const Parts parts_;
  const EventFd wake_;  ///< there is work for the thread, which resets it
  mutable Mutex mutex_;
  ChassisRoster roster_ GUARDED_BY(mutex_);
  bool begun_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Candidate> stale_ GUARDED_BY(mutex_);       ///< by UUID
  std::map<std::string, std::string> problems_ GUARDED_BY(mutex_);  ///< by the node's name
  std::optional<ChassisRoster::Stale> sent_;  ///< the thread's: its removal is under way
  std::set<std::string> removed_;             ///< the thread's: names of chassis
  OvsdbReplica replica_;                      ///< the thread's
  std::jthread thread_;
};

}  // namespace kuryr::controller::ovn
