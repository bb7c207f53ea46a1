#pragma once

#include <map>
#include <optional>
#include <vector>

#include "controller/backends/pools/address_set.h"
#include "controller/backends/pools/holder.h"
#include "controller/backends/pools/ledger.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::pools {

/// The networks and VLAN ids of one pool, and which numbers are free. The ledger says who holds the
/// others. Not thread-safe.
class Allocator {
 public:
  struct Network {
    IpNetwork cidr;
    std::optional<IpAddress> gateway;
    AddressSet addresses;
  };

  /// `index` is the pool's index. `ledger` has the pool's holdings and outlives the allocator.
  Allocator(uint16_t index, Pool pool, uint64_t seed, const Ledger& ledger);

  [[nodiscard]] uint16_t index() const noexcept { return index_; }
  [[nodiscard]] const Pool& pool() const noexcept { return pool_; }
  /// By CIDR: IPv4 first.
  [[nodiscard]] const std::map<IpNetwork, Network>& networks() const noexcept { return networks_; }
  [[nodiscard]] std::map<IpNetwork, Network>& networks() noexcept { return networks_; }
  /// The network that contains the address; nullptr: none.
  [[nodiscard]] Network* FindNetwork(Number address);
  [[nodiscard]] const Network* FindNetwork(Number address) const;
  /// Adds a network of a node. WhyNoSubnet has accepted it, and it overlaps no other network.
  Network& AddNetwork(const IpNetwork& cidr);
  [[nodiscard]] AddressSet& VlansOf(const std::string& node);

  /// The pool's resources that a holding takes up.
  [[nodiscard]] std::vector<Resource> ResourcesOf(const Holding& holding,
                                                  const std::string& node) const;
  /// Marks the resource as taken, in whatever state it is.
  void TakeAnyway(const Resource& resource, const Holder& holder);
  /// `holder` no longer holds the resource and never used it: it needs no rest.
  void GiveBack(const Resource& resource, const Holder& holder);
  /// `holder` no longer holds the resource; it rests from `now` on.
  void Rest(const Resource& resource, const Holder& holder, TimePoint now);

  /// The holder of this MAC address in the pool; nullptr: none.
  [[nodiscard]] const Holder* FindMac(const MacAddress& mac) const;
  /// A MAC address made from the interface's addresses. A caller raises `attempt` when another
  /// interface already has the MAC.
  [[nodiscard]] MacAddress MacFor(const std::vector<Number>& addresses, uint32_t attempt) const;

 private:
  /// The set that contains the resource; nullptr: none.
  [[nodiscard]] AddressSet* SetOf(const Resource& resource, const std::string& node);

  uint16_t index_;
  Pool pool_;
  uint64_t seed_;
  const Ledger& ledger_;
  std::map<IpNetwork, Network> networks_;
  std::map<std::string, AddressSet> vlans_;  ///< by node
};

/// The IPv4 address in a MAC of the form 0a:58 and the address; nullopt for other MACs.
[[nodiscard]] std::optional<IpAddress> AddressOfMac(const MacAddress& mac);

/// The key of the owner that may take an address while it rests.
[[nodiscard]] uint64_t RestKeyOf(const Holder& holder);

}  // namespace kuryr::controller::pools
