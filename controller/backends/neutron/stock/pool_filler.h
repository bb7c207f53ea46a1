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

/// Makes ports before pods ask for them, one pool at a time, in a thread of its own. It also lists
/// the ready ports that other controllers made; its first list has the nameless ports of Kuryr's
/// own pools in addition. Thread-safe.
class PoolFiller {
 public:
  struct Hooks {
    std::function<bool()> may_write;  ///< while false, it sends no request to Neutron
    /// Whether a pod's plan names the port.
    std::function<bool(const std::string& port_id)> is_held;
  };
  struct Times {
    /// From the first list to the second; then the time doubles up to `list`. Neutron may carry out
    /// a killed controller's request late.
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

  /// All pods' plans are known, so a port that none of them names may be ready. A second call does
  /// nothing.
  void Begin() EXCLUDES(mutex_);
  void Want(const PoolNeed& need) EXCLUDES(mutex_);
  void Doubt();

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    PoolNeed need;
    std::optional<Clock::time_point> filled_at;  ///< when a fill began last
  };

  void Work();
  void Round(const std::string& text) EXCLUDES(mutex_);
  void FillRound(const std::string& text) EXCLUDES(mutex_);
  /// The time until the pool may be filled again.
  [[nodiscard]] Clock::duration WaitFor(const Known& known) const;
  void Fill(const PoolNeed& need);
  [[nodiscard]] size_t Create(const PoolNeed& need, const PodNetwork& network,
                              std::vector<PortRequest> requests, ReadyPorts::Room& room);
  /// After an error, the next list finds the ports that were not added.
  void AddAll(const PoolNeed& need, const PodNetwork& network, const std::vector<Port>& ports,
              ReadyPorts::Room& room);
  void List();
  /// Completes a port that a fill left half done, perhaps another controller's. nullopt: the port
  /// is not ready. Deletes the port if no pod can get it.
  [[nodiscard]] std::optional<ReadyPorts::Listed> Complete(const Port& port);
  [[nodiscard]] std::vector<PortFilter> Filters() const;

  const PortPools::Means means_;
  const Hooks hooks_;
  const Times times_;
  // Only the thread uses these.
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
