#pragma once

#include <compare>
#include <map>
#include <vector>

#include "controller/backends/pools/holder.h"

namespace kuryr::controller::pools {

/// Something that one owner alone may have.
struct Resource {
  enum class Kind : uint8_t { kAddress, kMac, kVlan };

  Number number = 0;  ///< the address; the MAC; node and VLAN id
  uint16_t pool = 0;
  Kind kind = Kind::kAddress;

  bool operator==(const Resource&) const = default;
  [[nodiscard]] bool operator<(const Resource& other) const noexcept {
    if (pool != other.pool) return pool < other.pool;
    if (kind != other.kind) return kind < other.kind;
    return number < other.number;
  }
};

/// By what right an owner has a resource.
enum class Right : uint8_t {
  kOwn,     ///< by this controller's plan, a claim, or what its node tells
  kOthers,  ///< by another producer's plan: goes behind every kOwn
};

/// Who has what. A resource that two have by the same right, because it was written so, is the
/// first one's, and the other's when the first is gone. It never looks free meanwhile. Not
/// thread-safe.
class Ledger {
 public:
  /// Who has it now: `holder`, or another, behind whom `holder` waits then. Repeatable; a better
  /// right replaces the one that the holder had.
  const Holder* Claim(const Resource& resource, const Holder& holder, Right right = Right::kOwn);
  /// `lender` has it now; `holder` has it from now on, and `lender` waits behind.
  void Lend(const Resource& resource, const Holder& lender, const Holder& holder);
  /// Whether nobody has it now who had it before.
  bool Release(const Resource& resource, const Holder& holder);
  /// Whether who has it now has it by another producer's plan.
  [[nodiscard]] bool IsOthers(const Resource& resource) const;
  /// nullptr: nobody.
  [[nodiscard]] const Holder* Find(const Resource& resource) const;
  /// Who has it, and who waits behind.
  [[nodiscard]] std::vector<const Holder*> FindAll(const Resource& resource) const;
  /// The numbers from `first`'s to `last`, of its pool and kind, that somebody has.
  [[nodiscard]] std::vector<Number> NumbersAt(const Resource& first, Number last) const;

 private:
  struct Claimant {
    const Holder* holder = nullptr;
    Right right = Right::kOwn;
  };
  using Waiting = std::multimap<Resource, Claimant>;

  /// The next one of `resource`: of those by the best right, the first. end(): nobody waits.
  [[nodiscard]] Waiting::iterator NextOf(const Resource& resource);
  [[nodiscard]] Waiting::iterator WaitingOf(const Resource& resource, const Holder& holder);

  std::map<Resource, Claimant> holders_;
  Waiting waiting_;
};

}  // namespace kuryr::controller::pools
