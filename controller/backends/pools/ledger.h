#pragma once

#include <compare>
#include <map>
#include <vector>

#include "controller/backends/pools/holder.h"

namespace kuryr::controller::pools {

/// A number that only one owner at a time may have.
struct Resource {
  enum class Kind : uint8_t { kAddress, kMac, kVlan };

  Number number = 0;  ///< an address, a MAC, or a node and a VLAN id
  uint16_t pool = 0;
  Kind kind = Kind::kAddress;

  bool operator==(const Resource&) const = default;
  [[nodiscard]] bool operator<(const Resource& other) const noexcept {
    if (pool != other.pool) return pool < other.pool;
    if (kind != other.kind) return kind < other.kind;
    return number < other.number;
  }
};

/// The reason why an owner has a resource.
enum class Right : uint8_t {
  kGateway,  ///< the gateway of a node's network: the node has it, whoever had it before
  kOwn,      ///< this controller's plan, a claim, or what the owner's node tells
  kOthers,   ///< another producer's plan; yields to all others
};

/// The holder of each resource. If two owners claim a resource by an equal right, the first holds
/// it. The second waits, and holds it when the first is gone; the resource is never free in
/// between. Not thread-safe.
class Ledger {
 public:
  /// Returns who holds the resource now: `holder`, or another owner, and `holder` waits. May be
  /// repeated; a better right replaces the one that the holder had.
  const Holder* Claim(const Resource& resource, const Holder& holder, Right right = Right::kOwn);
  /// Passes the resource from `lender`, which holds it, to `holder`; `lender` waits.
  void Lend(const Resource& resource, const Holder& lender, const Holder& holder);
  /// Ends the holder's claim. True when it held the resource and no owner waits for it.
  bool Release(const Resource& resource, const Holder& holder);
  /// Whether the resource is held by another producer's plan.
  [[nodiscard]] bool IsOthers(const Resource& resource) const;
  /// The owner that holds the resource; nullptr: none.
  [[nodiscard]] const Holder* Find(const Resource& resource) const;
  /// The owner that holds the resource, then the owners that wait.
  [[nodiscard]] std::vector<const Holder*> FindAll(const Resource& resource) const;
  /// The held numbers from `first`'s to `last`, of `first`'s pool and kind.
  [[nodiscard]] std::vector<Number> NumbersAt(const Resource& first, Number last) const;

 private:
  struct Claimant {
    const Holder* holder = nullptr;
    Right right = Right::kOwn;
  };
  using Waiting = std::multimap<Resource, Claimant>;

  /// The claim that comes next: the first among those with the best right. end(): none waits.
  [[nodiscard]] Waiting::iterator NextOf(const Resource& resource);
  [[nodiscard]] Waiting::iterator WaitingOf(const Resource& resource, const Holder& holder);

  std::map<Resource, Claimant> holders_;
  Waiting waiting_;
};

}  // namespace kuryr::controller::pools
