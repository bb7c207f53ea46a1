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
  std::string place;                 ///< VifDriver::PlaceOf: a host, or a trunk
  std::vector<std::string> subnets;  ///< UUIDs, sorted; the port has one address of each

  auto operator<=>(const PoolKey&) const = default;
};

/// A port that Neutron has bound, and that nobody has.
struct ReadyPort {
  std::string id;
  int64_t revision = 0;       ///< 0: it has to be asked for
  bool other_groups = false;  ///< its security groups are not those of kuryr.conf
  bool described = false;     ///< it has a description
  MacAddress mac;
  std::vector<IpAddress> addresses;
};

/// Since the start, or now, of one pool.
struct PoolCounts {
  size_t ready = 0;
  uint64_t claims = 0;
  uint64_t conflicts = 0;  ///< ports that somebody else was faster with
  uint64_t misses = 0;     ///< pods that found none ready
  uint64_t returns = 0;
  uint64_t fills = 0;
  uint64_t failed_fills = 0;

  void Add(const PoolCounts& other);
};

/// The ports that are ready, pool by pool, as far as this process knows: what Neutron has says
/// which they are. Thread-safe.
class ReadyPorts {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Event { kClaim, kConflict, kMiss, kReturn, kFill, kFailedFill };
  struct Listed {
    PoolKey key;
    ReadyPort port;
  };

  explicit ReadyPorts(const PoolOptions& options) : options_(options) {}

  /// The one that has been ready longest.
  [[nodiscard]] std::optional<ReadyPort> Take(const PoolKey& key) EXCLUDES(mutex_);
  void Put(const PoolKey& key, ReadyPort port) EXCLUDES(mutex_);
  /// Takes the ports of any pool that have one of the addresses, or the MAC.
  [[nodiscard]] std::vector<ReadyPort> TakeWith(const std::vector<IpAddress>& addresses,
                                                const std::optional<MacAddress>& mac)
      EXCLUDES(mutex_);
  /// One of the largest pool; with `subnets`, of those pools alone.
  [[nodiscard]] std::optional<ReadyPort> TakeAny(const std::vector<std::string>& subnets)
      EXCLUDES(mutex_);

  /// So many ports are on their way into a pool, for as long as this lives or until they are put:
  /// nobody else has their places.
  class Room {
   public:
    Room(ReadyPorts& ports, PoolKey key, size_t count)
        : ports_(ports), key_(std::move(key)), count_(count) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { ports_.GiveBack(key_, count_); }

    [[nodiscard]] size_t count() const noexcept { return count_; }
    /// Into the pool: it is ready now, and on its way no more.
    void Put(ReadyPort port);

   private:
    ReadyPorts& ports_;
    const PoolKey key_;
    size_t count_;
  };
  /// For `wanted` ports, or fewer where the pool is nearly full.
  [[nodiscard]] Room TakeRoom(const PoolKey& key, size_t wanted) EXCLUDES(mutex_);
  /// How many ports a fill is to make: none while there are enough, or while fills rest.
  [[nodiscard]] size_t Lacking(const PoolKey& key) const EXCLUDES(mutex_);
  /// No pool is filled for that long: what there is goes to pods.
  void Rest(Clock::duration time) EXCLUDES(mutex_);
  [[nodiscard]] Clock::duration RestLeft() const EXCLUDES(mutex_);

  // A list of Neutron's, which is of no moment: what was taken or put since its begin stays so.
  void BeginListing() EXCLUDES(mutex_);
  /// The list does not count for this port: a pod had it, and may have given it back meanwhile.
  void PassOver(const std::string& id) EXCLUDES(mutex_);
  /// Those beyond the limit, which are ready no more.
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
  /// Those on their way among them.
  [[nodiscard]] size_t SizeOf(const PoolKey& key) const REQUIRES(mutex_);
  void DropUnlisted(const std::set<std::string>& ids) REQUIRES(mutex_);
  /// False where it is not known.
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
