#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/stock/port_pools.h"
#include "service/work_queue.h"

namespace kuryr::controller::neutron {

/// Makes ports before pods ask for them, one pool at a time, in a thread of its own; and lists what
/// is ready, whoever made it: at first also what Kuryr's own pools left without a name.
/// Thread-safe.
class PoolFiller {
 public:
  using Clock = std::chrono::steady_clock;

  struct Hooks {
    std::function<bool()> may_write;  ///< while false, nothing is asked of Neutron
    /// Whether a pod's plan names the port.
    std::function<bool(const std::string& port_id)> is_held;
  };
  struct Times {
    /// From the first list to the second; then it doubles up to `list`. What a controller that was
    /// killed has asked for may be made late.
    std::chrono::milliseconds late{10'000};
    std::chrono::milliseconds list{300'000};  ///< between two lists
    std::chrono::milliseconds doubt{5'000};   ///< from a request without an answer to a list
    std::chrono::milliseconds retry{1'000};   ///< after a failure, at first
  };

  /// Borrows all that `means` refers to.
  PoolFiller(const PortPools::Means& means, Hooks hooks, Times times);
  PoolFiller(const PoolFiller&) = delete;
  PoolFiller& operator=(const PoolFiller&) = delete;
  /// Waits for a request that is under way.
  ~PoolFiller() { queue_.ShutDown(); }

  /// Whom pods' plans name is known: what is left may be ready. Repeated, it does nothing.
  void Begin() EXCLUDES(mutex_);
  void Want(const PoolNeed& need) EXCLUDES(mutex_);
  void Doubt();

 private:
  struct Known {
    PoolNeed need;
    std::optional<Clock::time_point> filled_at;  ///< when a fill began last
  };

  void Work();
  void Round(const std::string& text) EXCLUDES(mutex_);
  void FillRound(const std::string& text) EXCLUDES(mutex_);
  /// Until the pool may be filled again.
  [[nodiscard]] Clock::duration WaitFor(const Known& known) const;
  void Fill(const PoolNeed& need);
  [[nodiscard]] size_t Create(const PoolNeed& need, const PodNetwork& network,
                              std::vector<PortRequest> requests, ReadyPorts::Room& room);
  /// After an error, what is left is to be listed.
  void AddAll(const PoolNeed& need, const PodNetwork& network, const std::vector<Port>& ports,
              ReadyPorts::Room& room);
  void List();
  /// Does what a fill, another controller's perhaps, has left to do for the port that it made.
  /// nullopt: the port is not a ready one. Deletes it where no pod can be given it.
  [[nodiscard]] std::optional<ReadyPorts::Listed> Complete(const Port& port);
  [[nodiscard]] std::vector<PortFilter> Filters() const;

  const PortPools::Means means_;
  const Hooks hooks_;
  const Times times_;
  // The thread's own.
  bool listed_ = false;
  bool must_list_ = false;  ///< a fill has left ports: before the next one
  Clock::duration pause_;   ///< from a list to the next
  service::WorkQueue queue_;
  Mutex mutex_;
  std::map<std::string, Known> needs_ GUARDED_BY(mutex_);  ///< by the key's text
  bool begun_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::controller::neutron
