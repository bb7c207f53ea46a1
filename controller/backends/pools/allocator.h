#pragma once

#include <map>
#include <optional>
#include <vector>

#include "controller/backends/pools/address_set.h"
#include "controller/backends/pools/holder.h"
#include "controller/backends/pools/ledger.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::pools {

/// What one pool has to give, as far as it knows: the ledger says who has it. Not thread-safe.
class Allocator {
 public:
  struct Network {
    IpNetwork cidr;
    std::optional<IpAddress> gateway;
    AddressSet addresses;
  };

  /// The pool with this index, whose holdings are in `ledger`, which lives longer.
  Allocator(uint16_t index, Pool pool, uint64_t seed, const Ledger& ledger);

  [[nodiscard]] uint16_t index() const noexcept { return index_; }
  [[nodiscard]] const Pool& pool() const noexcept { return pool_; }
  /// By CIDR: IPv4 first.
  [[nodiscard]] const std::map<IpNetwork, Network>& networks() const noexcept { return networks_; }
  [[nodiscard]] std::map<IpNetwork, Network>& networks() noexcept { return networks_; }
  /// The one that the address is in; nullptr: none.
  [[nodiscard]] Network* FindNetwork(Number address);
  [[nodiscard]] const Network* FindNetwork(Number address) const;
  /// A network of a node, at most one that pods can live in and that overlaps no other.
  Network& AddNetwork(const IpNetwork& cidr);
  /// The VLAN ids of a node.
  [[nodiscard]] AddressSet& VlansOf(const std::string& node);

  /// What of the pool a holding stands for.
  [[nodiscard]] std::vector<Resource> ResourcesOf(const Holding& holding,
                                                  const std::string& node) const;
  /// Somebody has it, whatever it was before.
  void TakeAnyway(const Resource& resource, const Holder& holder);
  /// Nobody has it any more, and nobody has seen it with `holder`.
  void GiveBack(const Resource& resource, const Holder& holder);
  /// Nobody has it any more; it rests from `now` on.
  void Rest(const Resource& resource, const Holder& holder, TimePoint now);

  /// Who has this MAC address in the pool; nullptr: nobody.
  [[nodiscard]] const Holder* FindMac(const MacAddress& mac) const;
  /// Where an interface's own choice begins: of the address. `attempt` tells one from another, if
  /// somebody wished for the first.
  [[nodiscard]] MacAddress MacFor(const std::vector<Number>& addresses, uint32_t attempt) const;

 private:
  /// The set in which the resource is; nullptr: none.
  [[nodiscard]] AddressSet* SetOf(const Resource& resource, const std::string& node);

  uint16_t index_;
  Pool pool_;
  uint64_t seed_;
  const Ledger& ledger_;
  std::map<IpNetwork, Network> networks_;
  std::map<std::string, AddressSet> vlans_;  ///< by node
};

/// The IPv4 address that the MAC follows from by its form, 0a:58 and the address; nullopt: none.
[[nodiscard]] std::optional<IpAddress> AddressOfMac(const MacAddress& mac);

/// By whom an address may be taken while it rests.
[[nodiscard]] uint64_t RestKeyOf(const Holder& holder);

}  // namespace kuryr::controller::pools
