#pragma once

#include <compare>
#include <map>
#include <vector>

#include "controller/local/holder.h"

namespace kuryr::controller::local {

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

/// Who has what. A resource that two have, because it was written so, is the first one's, and the
/// other's when the first is gone. It never looks free meanwhile. Not thread-safe.
class Ledger {
 public:
  /// Who has it now: `holder`, or another, behind whom `holder` waits then. Repeatable.
  const Holder* Claim(const Resource& resource, const Holder& holder);
  /// `lender` has it now; `holder` has it from now on, and `lender` waits behind.
  void Lend(const Resource& resource, const Holder& lender, const Holder& holder);
  /// Whether nobody has it now who had it before.
  bool Release(const Resource& resource, const Holder& holder);
  /// nullptr: nobody.
  [[nodiscard]] const Holder* Find(const Resource& resource) const;
  /// Who has it, and who waits behind.
  [[nodiscard]] std::vector<const Holder*> FindAll(const Resource& resource) const;
  /// The numbers from `first`'s to `last`, of its pool and kind, that somebody has.
  [[nodiscard]] std::vector<Number> NumbersAt(const Resource& first, Number last) const;

 private:
  std::map<Resource, const Holder*> holders_;
  std::multimap<Resource, const Holder*> waiting_;
};

}  // namespace kuryr::controller::local
