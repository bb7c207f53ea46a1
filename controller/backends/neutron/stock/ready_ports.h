#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "base/thread_annotations.h"
#include "controller/backends/neutron/settings/pool_options.h"

namespace kuryr::controller::neutron {

/// Names the pods that a ready port can be given to. Its project and security groups are always
/// those of kuryr.conf.
struct PoolKey {
  std::string place;  ///< VifDriver::PlaceOf: a host, or a trunk
  /// UUIDs, sorted, of those that the port was asked to have one address of each of. SLAAC subnets
  /// are not among them: a port has an address of each of its network's anyway. The network's own
  /// UUID where it was asked for SLAAC alone.
  std::vector<std::string> subnets;

  auto operator<=>(const PoolKey&) const = default;
};

/// A port that Neutron has bound, without an owner.
struct ReadyPort {
  std::string id;
  int64_t revision = 0;       ///< 0: not known; Neutron must be asked
  bool other_groups = false;  ///< its security groups are not those of kuryr.conf
  bool described = false;     ///< it has a description
  MacAddress mac;
  std::vector<IpAddress> addresses;
};

/// Figures of one pool: `ready` now, the others since the start.
struct PoolCounts {
  size_t ready = 0;
  uint64_t claims = 0;
  uint64_t conflicts = 0;  ///< ports that another client took first
  uint64_t misses = 0;     ///< pods that found none ready
  uint64_t returns = 0;
  uint64_t fills = 0;
  uint64_t failed_fills = 0;

  void Add(const PoolCounts& other);
};

/// The ready ports of each pool, as far as this process knows. Neutron's lists decide. Thread-safe.
class ReadyPorts {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Event { kClaim, kConflict, kMiss, kReturn, kFill, kFailedFill };
  struct Listed {
    PoolKey key;
    ReadyPort port;
  };

  explicit ReadyPorts(const PoolOptions& options) : options_(options) {}

  /// Takes the port that has been ready longest.
  [[nodiscard]] std::optional<ReadyPort> Take(const PoolKey& key) EXCLUDES(mutex_);
  void Put(const PoolKey& key, ReadyPort port) EXCLUDES(mutex_);
  /// Takes the ports of any pool that have one of the addresses, or the MAC.
  [[nodiscard]] std::vector<ReadyPort> TakeWith(const std::vector<IpAddress>& addresses,
                                                const std::optional<MacAddress>& mac)
      EXCLUDES(mutex_);
  /// Takes a port of the largest pool; with `subnets`, only of pools with these subnets.
  [[nodiscard]] std::optional<ReadyPort> TakeAny(const std::vector<std::string>& subnets)
      EXCLUDES(mutex_);

  /// Reserves room in a pool for ports that are being made. The room of each port ends with Put,
  /// that of the others with this object.
  class Room {
   public:
    Room(ReadyPorts& ports, PoolKey key, size_t count)
        : ports_(ports), key_(std::move(key)), count_(count) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { ports_.GiveBack(key_, count_); }

    [[nodiscard]] size_t count() const noexcept { return count_; }
    /// Adds the port to the pool, in the place of one reserved.
    void Put(ReadyPort port);

   private:
    ReadyPorts& ports_;
    const PoolKey key_;
    size_t count_;
  };
  /// Reserves room for `wanted` ports, or for fewer if the pool is nearly full.
  [[nodiscard]] Room TakeRoom(const PoolKey& key, size_t wanted) EXCLUDES(mutex_);
  /// The number of ports that a fill should make: 0 if there are enough, or while fills rest.
  [[nodiscard]] size_t Lacking(const PoolKey& key) const EXCLUDES(mutex_);
  /// Stops fills for that time, so that pods get the ports that can be made.
  void Rest(Clock::duration time) EXCLUDES(mutex_);
  [[nodiscard]] Clock::duration RestLeft() const EXCLUDES(mutex_);

  // Neutron's list takes time. Ports that were taken or put since BeginListing stay so.
  void BeginListing() EXCLUDES(mutex_);
  /// Ignores the list for this port: a pod had it, and may have returned it meanwhile.
  void PassOver(const std::string& id) EXCLUDES(mutex_);
  /// Returns the ports beyond the limit, which are no longer ready.
  [[nodiscard]] std::vector<ReadyPort> EndListing(std::vector<Listed> listed) EXCLUDES(mutex_);

  void Count(const PoolKey& key, Event event) EXCLUDES(mutex_);
  [[nodiscard]] std::map<PoolKey, PoolCounts> Counts() const EXCLUDES(mutex_);

 private:
  struct Pool {
    std::deque<ReadyPort> ports;
    PoolCounts counts;
    size_t coming = 0;  ///< Room
  };

  void GiveBack(const PoolKey& key, size_t count) EXCLUDES(mutex_);
  void Add(const PoolKey& key, ReadyPort port) REQUIRES(mutex_);
  /// The number of ports, with those that are being made.
  [[nodiscard]] size_t SizeOf(const PoolKey& key) const REQUIRES(mutex_);
  void DropUnlisted(const std::set<std::string>& ids) REQUIRES(mutex_);
  /// False: the port is not known.
  bool Refresh(const Listed& listed) REQUIRES(mutex_);
  [[nodiscard]] std::vector<ReadyPort> TakeExcess() REQUIRES(mutex_);

  const PoolOptions options_;
  mutable Mutex mutex_;
  std::map<PoolKey, Pool> pools_ GUARDED_BY(mutex_);
  std::set<std::string> touched_ GUARDED_BY(mutex_);  ///< ids, since BeginListing
  bool listing_ GUARDED_BY(mutex_) = false;
  Clock::time_point rests_until_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
