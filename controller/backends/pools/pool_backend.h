#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/backends/pools/allocator.h"
#include "controller/backends/pools/flat_policies.h"
#include "controller/backends/pools/holder.h"
#include "controller/backends/pools/ledger.h"
#include "controller/backends/pools/lines.h"
#include "controller/backends/pools/pool.h"
#include "controller/backends/pools/reservation.h"

namespace kuryr::controller::pools {

/// The usage of one network. `limit`, `used` and `resting` count addresses.
struct NetworkUsage {
  std::string network;
  IpFamily family = IpFamily::kIpv4;
  double limit = 0;      ///< a double: an IPv6 network has more than an integer holds
  uint64_t used = 0;     ///< owners have them
  uint64_t resting = 0;  ///< released, and not given away again yet
};

/// A backend whose networks are the pools of kuryr.conf; docs/pools.md says what pods get. Its
/// state is in memory, and Adopt rebuilds it. VIFs are active at once. A VIF's id follows from its
/// owner and interface, so that the backend knows its VIFs of removed pools. Reserve describes VIFs
/// by the present pools. Thread-safe.
class PoolBackend final : public Backend,
                          public AddressKeeper,
                          public InterfaceReleaser,
                          public MetricsReporter {
 public:
  using Now = std::function<TimePoint()>;
  /// Called when the owner should ask again. Must not call the backend.
  using Wake = std::function<void(const Owner& owner)>;

  /// `seed` chooses where each pool begins, and differs in every process. A former leader that was
  /// paused may still write its last address; the new leader begins elsewhere. `flat`: nodes
  /// enforce policies in some of the pools.
  explicit PoolBackend(std::vector<Pool> pools, uint64_t seed = RandomSeed(),
                       Now now = std::chrono::steady_clock::now, Wake wake = {},
                       std::unique_ptr<FlatPolicies> flat = nullptr);

  /// kRetry says when a fixed address has rested. An owner that gets kExhausted from a pool waits
  /// in line, before owners that come later. It is woken when an address is free for it, or told
  /// when to ask again.
  [[nodiscard]] std::optional<std::vector<vif::PodVif>> Reserve(
      const PlanRequest& request) override;
  [[nodiscard]] bool Owns(const Owner& owner, const vif::PodVif& vif) const override;
  /// The reasons: a pool that the scope may not use, an address outside of the pool's ranges, or a
  /// MAC that belongs to another address.
  [[nodiscard]] std::optional<std::string> WhyNeverGiven(const Owner& owner,
                                                         const vif::PodVif& vif) const override;
  /// An interface's reservation that was never written is released. If another owner has an
  /// address, this owner gets it when that one releases it; until then, Reserve refuses.
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  void Heed(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  void KeepBeside(const Owner& owner, const Beside& beside) override;
  [[nodiscard]] std::vector<Owner> Rivals(const Owner& owner,
                                          const std::vector<vif::PodVif>& vifs) const override;
  /// An address that several pools have is kept in each. If an owner of the claim's scope has it,
  /// it is kept once that owner releases it.
  void Keep(const Owner& claim, const std::vector<IpAddress>& addresses) override;
  [[nodiscard]] bool Await(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  bool Release(const std::string& owner_id) override;
  void ReleaseBut(const Owner& owner, const std::vector<vif::PodVif>& vifs) override;
  [[nodiscard]] std::vector<Owner> Inventory() const override;
  /// For a pool with `from_node`, counts the networks of the nodes that were asked for.
  [[nodiscard]] std::vector<NetworkUsage> Usage() const;
  void WriteTo(service::MetricsText& text) const override;
  [[nodiscard]] Facets facets() override {
    return {.addresses = this, .interfaces = this, .metrics = this, .policies = flat_.get()};
  }

 private:
  using Holders = std::unordered_map<std::string, Holder>;
  using Vifs = std::vector<vif::PodVif>;

  static uint64_t RandomSeed();
  /// The owner's entry; made if it is new.
  Holders::iterator Open(const Owner& owner) REQUIRES(mutex_);
  void CloseIfEmpty(Holders::iterator entry) REQUIRES(mutex_);
  /// Notes whether the owner's eth0 is in a flat pool now.
  void NoteFlat(const std::string& owner_id) REQUIRES(mutex_);
  [[nodiscard]] Vifs ReserveAll(const PlanRequest& request) REQUIRES(mutex_);
  /// Puts the owner in line; returns the error to throw.
  [[nodiscard]] PlanError WaitInLine(const Owner& owner, const SetExhausted& exhausted)
      REQUIRES(mutex_);
  /// Wakes waiting owners for which a number may be free.
  void WakeWaiting() REQUIRES(mutex_);
  /// Throws kRefused for an adopted address whose network is unknown.
  void LearnNetworksOf(const Holding& holding, const PlanRequest& request) REQUIRES(mutex_);
  /// A node has the gateways of its routed networks, whoever had them first.
  void ClaimGateways(const Holder& node, const Holding& holding) REQUIRES(mutex_);
  void Plan(Holder& holder, const PlanRequest& request, const InterfaceRequest& interface)
      REQUIRES(mutex_);
  /// Keeps the addresses of planned interfaces without wishes that have rivals, but not their
  /// plans.
  void Withdraw(Holder& holder, const std::vector<InterfaceRequest>& interfaces) REQUIRES(mutex_);
  /// Other holders whose plans have a resource of the holding.
  [[nodiscard]] std::vector<const Holder*> RivalsOf(const Holder* holder, const std::string& node,
                                                    const Holding& holding) const REQUIRES(mutex_);
  /// Whether the holder's plan has the resource.
  [[nodiscard]] bool Uses(const Holder& holder, const Resource& resource) const REQUIRES(mutex_);
  void TellNext(const Resource& resource) REQUIRES(mutex_);
  /// The claim that the interface names; nullptr: none, or it keeps no addresses.
  [[nodiscard]] const Holder* FindLender(const InterfaceRequest& interface) const REQUIRES(mutex_);
  /// Whether the claim gets the address, now or once its holder releases it.
  bool KeepIn(Allocator& allocator, const Owner& claim, Number address) REQUIRES(mutex_);
  /// The networks of the node that asks: those that it has itself, else a block of the pool.
  [[nodiscard]] std::vector<IpNetwork> NetworksOfNode(const Allocator& allocator,
                                                      const PlanRequest& request) const
      REQUIRES(mutex_);
  [[nodiscard]] BlockState StateOf(const Allocator& allocator, const IpNetwork& block,
                                   const std::string& node) const REQUIRES(mutex_);
  /// Learns the blocks that the node's written plan has.
  void AdoptBlocks(const vif::PodVif& vif) REQUIRES(mutex_);
  void LearnNodeNetworks(Allocator& allocator, const std::vector<IpNetwork>& networks)
      REQUIRES(mutex_);
  /// Throws kRefused when the network overlaps another on the same segment.
  void RequireApart(const Allocator& allocator, const IpNetwork& cidr) const REQUIRES(mutex_);
  /// Forgets unused networks that `cidr` overlaps: their nodes are gone.
  void ForgetUnused(Allocator& allocator, const IpNetwork& cidr) REQUIRES(mutex_);
  [[nodiscard]] std::vector<Holding> HoldingsOf(const Owner& owner, const vif::PodVif& vif) const
      REQUIRES(mutex_);
  [[nodiscard]] Segment SegmentOf(const Holding& holding) const REQUIRES(mutex_) {
    return {allocators_, allocators_[holding.pool]};
  }
  /// Gives the holding to the holder, in place of its earlier plan for this interface.
  void Take(Holder& holder, Holding holding) REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::string> FindConflict(const Holder& holder,
                                                        const Holding& holding) const
      REQUIRES(mutex_);
  /// Releases what another producer planned for the holder, except `stays`.
  void ReleaseOthers(Holder& holder, const std::vector<Holding>& stays) REQUIRES(mutex_);
  /// Releases what `holding` has and no other holding of the holder does. It rests then, or becomes
  /// as it was before it was taken.
  enum class After { kRest, kNothing };
  void ReleaseOne(const Holder& holder, const Holding& holding, After after) REQUIRES(mutex_);

  mutable Mutex mutex_;
  const Now now_;
  const Wake wake_;
  const std::unique_ptr<FlatPolicies> flat_;  ///< null: policies hold in all pools, or in none
  Ledger ledger_ GUARDED_BY(mutex_);
  std::vector<Allocator> allocators_ GUARDED_BY(mutex_);  ///< by index
  Holders holders_ GUARDED_BY(mutex_);                    ///< by the owner's id
  Lines lines_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::pools
