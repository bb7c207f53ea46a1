#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/backends/pools/allocator.h"
#include "controller/backends/pools/holder.h"
#include "controller/backends/pools/ledger.h"
#include "controller/backends/pools/lines.h"
#include "controller/backends/pools/pool.h"
#include "controller/backends/pools/reservation.h"

namespace kuryr::controller::pools {

/// How much one network has. `limit`, `used` and `resting` count addresses.
struct NetworkUsage {
  std::string network;
  IpFamily family = IpFamily::kIpv4;
  double limit = 0;      ///< a double: an IPv6 network has more than an integer holds
  uint64_t used = 0;     ///< owners have them
  uint64_t resting = 0;  ///< released, and not given away again yet
};

/// A backend whose networks are the pools of kuryr.conf; docs/pools.md says what pods get. All of
/// it is in memory, and rebuilt by Adopt. VIFs are active at once. A VIF's id follows from its
/// owner and interface, so one that was planned with pools that are gone is still known as ours.
/// What Reserve gives is described by the pools as they are now. Thread-safe.
class PoolBackend final : public Backend, public AddressKeeper, public MetricsReporter {
 public:
  using Now = std::function<TimePoint()>;
  /// Asking again for this owner is worth it. Must not call the backend.
  using Wake = std::function<void(const Owner& owner)>;

  /// `seed` chooses where each pool begins. It is another one in every process: a former leader
  /// that was paused may still write its last address, and the new one begins elsewhere.
  explicit PoolBackend(std::vector<Pool> pools, uint64_t seed = RandomSeed(),
                       Now now = std::chrono::steady_clock::now, Wake wake = {});

  /// kRetry says when a fixed address has rested. Who gets kExhausted of a pool waits in line,
  /// before those that come later. It is woken when there is an address for it, or told when to
  /// come.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) override;
  [[nodiscard]] bool Owns(const Owner& owner, const vif::PodVif& vif) const override;
  /// Of a pool that is not the scope's, outside of its ranges, or with a MAC that is not for it.
  [[nodiscard]] std::optional<std::string> WhyNeverGiven(const Owner& owner,
                                                         const vif::PodVif& vif) const override;
  /// What Reserve gave for one of these interfaces, and nobody wrote, is released. An address that
  /// another owner has becomes this one's when the other releases it; until then, Reserve refuses.
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  void Heed(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  void KeepBeside(const Owner& owner, const Beside& beside) override;
  /// An address that several pools have is kept in each. One that an owner of its own scope has is
  /// kept as soon as that one releases it.
  [[nodiscard]] std::vector<Owner> Rivals(const Owner& owner,
                                          const std::vector<vif::PodVif>& vifs) const override;
  void Keep(const Owner& claim, const std::vector<IpAddress>& addresses) override;
  [[nodiscard]] bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  bool Release(const std::string& owner_id) override;
  [[nodiscard]] std::vector<Owner> Inventory() const override;
  /// Of a pool with `from_node`, the networks of nodes that were asked for.
  [[nodiscard]] std::vector<NetworkUsage> Usage() const;
  void WriteTo(service::MetricsText& text) const override;
  [[nodiscard]] Facets facets() override { return {.addresses = this, .metrics = this}; }

 private:
  using Holders = std::unordered_map<std::string, Holder>;
  using Vifs = std::vector<vif::PodVif>;

  static uint64_t RandomSeed();
  /// The owner's entry, made when it is new.
  Holders::iterator Open(const Owner& owner) REQUIRES(mutex_);
  void CloseIfEmpty(Holders::iterator entry) REQUIRES(mutex_);
  [[nodiscard]] Vifs ReserveAll(const PlanRequest& request) REQUIRES(mutex_);
  /// The error with which the owner waits.
  [[nodiscard]] BackendError WaitInLine(const Owner& owner, const SetExhausted& exhausted)
      REQUIRES(mutex_);
  /// Something may be free for those who wait.
  void WakeWaiting() REQUIRES(mutex_);
  void Plan(Holder& holder, const PlanRequest& request, const InterfaceRequest& interface)
      REQUIRES(mutex_);
  /// What was planned for interfaces that wish for nothing, and has rivals, is only kept now.
  void Withdraw(Holder& holder, const std::vector<InterfaceRequest>& interfaces) REQUIRES(mutex_);
  /// Whose plans have something of it.
  [[nodiscard]] std::vector<const Holder*> RivalsOf(const Holder* holder, const std::string& node,
                                                    const Holding& holding) const REQUIRES(mutex_);
  /// Whether the holder's plan has it.
  [[nodiscard]] bool Uses(const Holder& holder, const Resource& resource) const REQUIRES(mutex_);
  void TellNext(const Resource& resource) REQUIRES(mutex_);
  /// nullptr: the interface names no claim, or one that keeps nothing.
  [[nodiscard]] const Holder* FindLender(const InterfaceRequest& interface) const REQUIRES(mutex_);
  /// Whether it is the claim's from now on, at once or later.
  bool KeepIn(Allocator& allocator, const Owner& claim, Number address) REQUIRES(mutex_);
  void LearnNodeNetworks(Allocator& allocator, const std::vector<IpNetwork>& networks)
      REQUIRES(mutex_);
  /// Throws kRefused where another network has some of its addresses.
  void RequireApart(const Allocator& allocator, const IpNetwork& cidr) const REQUIRES(mutex_);
  /// A network of a node that is gone: nobody has anything of it, and another one overlaps it.
  void ForgetUnused(Allocator& allocator, const IpNetwork& cidr) REQUIRES(mutex_);
  [[nodiscard]] std::vector<Holding> HoldingsOf(const Owner& owner, const vif::PodVif& vif) const
      REQUIRES(mutex_);
  [[nodiscard]] Segment SegmentOf(const Holding& holding) const REQUIRES(mutex_) {
    return {allocators_, allocators_[holding.pool]};
  }
  /// Makes it the holder's, instead of what it had planned for this interface.
  void Take(Holder& holder, Holding holding) REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::string> FindConflict(const Holder& holder,
                                                        const Holding& holding) const
      REQUIRES(mutex_);
  /// What another producer planned is the holder's no more, but for `stays`.
  void ReleaseOthers(Holder& holder, const std::vector<Holding>& stays) REQUIRES(mutex_);
  /// `holding` is not the holder's any more. What no other of its holdings has rests then, or is as
  /// if it had never been taken.
  enum class After { kRest, kNothing };
  void ReleaseOne(const Holder& holder, const Holding& holding, After after) REQUIRES(mutex_);

  mutable Mutex mutex_;
  const Now now_;
  const Wake wake_;
  Ledger ledger_ GUARDED_BY(mutex_);
  std::vector<Allocator> allocators_ GUARDED_BY(mutex_);  ///< by index
  Holders holders_ GUARDED_BY(mutex_);                    ///< by the owner's id
  Lines lines_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::pools
