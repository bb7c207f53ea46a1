#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "binding/netlink/nft_batch.h"
#include "binding/netlink/nft_message.h"
#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

/// The table "inet kuryr-policy" of nft(8), which the agent alone changes.
inline constexpr const char* kPolicyTable = "kuryr-policy";

/// A rule of a pod's chain. The first one that matches a packet decides.
struct FilterRule {
  enum class Verdict {
    kAccept,
    kDrop,
    kJump,    ///< to the chain `jump`, and on from here if that decides nothing
    kReturn,  ///< the chain decides nothing
  };
  enum class Protocol : uint8_t { kTcp = 6, kUdp = 17, kSctp = 132 };

  /// nullopt: any peer. Else a packet of this family matches whose other end is in `set`, or in
  /// `blocks` where the set has no name.
  std::optional<IpFamily> family;
  std::string set;
  std::vector<NftInterval> blocks;
  std::optional<Protocol> protocol;  ///< nullopt: any, and any port
  std::vector<NftPorts> ports;       ///< destinations, in order, apart; empty: all
  Verdict verdict = Verdict::kDrop;
  std::string jump;  ///< another chain of the filter; for kJump alone

  bool operator==(const FilterRule&) const = default;
};
/// The rules for what some pods send, or for what they receive. Packets that none of them matches
/// pass.
struct FilterChain {
  PacketEnd pod = PacketEnd::kSource;
  std::vector<FilterRule> rules;

  bool operator==(const FilterChain&) const = default;
};

/// By NameOf.
using FilterChains = std::map<std::string, std::shared_ptr<const FilterChain>>;

/// The packets that a node's pods may begin connections with. A pod that has no chain is free. The
/// node itself always reaches its pods.
struct Filter {
  FilterChains chains;
  std::map<IpAddress, std::string> senders;    ///< the chain of what each address sends
  std::map<IpAddress, std::string> receivers;  ///< the chain of what each address receives

  [[nodiscard]] bool empty() const noexcept { return senders.empty() && receivers.empty(); }
};

/// The chain's name in the kernel. Chains of one name are alike, so none ever changes.
[[nodiscard]] std::string NameOf(const FilterChain& chain);

/// How the names of a set's two sets in the kernel begin; "-4" or "-6" follows.
[[nodiscard]] std::string NameOfSet(const std::string& set);
/// The sets that rules name.
[[nodiscard]] std::set<std::string> SetsOf(const Filter& filter);
/// Whether the kernel has these chains, and leads each of these addresses to its chain's map. It
/// may have more. Throws std::system_error.
[[nodiscard]] bool IsInKernel(const Filter& filter);

/// Keeps a Filter in the kernel, in the namespace of the thread that calls it. Each change is one
/// transaction, so packets meet the filter before or after it. Replies of connections that passed,
/// ICMP's errors about them and packets of a pod to itself always pass. Not thread-safe, but for
/// port().
class PodFilter {
 public:
  using Addresses = std::vector<IpAddress>;  ///< sorted, each once
  /// The addresses of a set that a rule names.
  using AddressesOf = std::function<Addresses(const std::string& set)>;

  /// Makes the kernel's filter this one. `changed` names the sets that have other addresses than at
  /// the last call. The first call replaces what another process has left, and so does each call
  /// after one that failed. Without chains there is no table. Throws std::system_error.
  void Apply(const Filter& wanted, const AddressesOf& addresses_of,
             const std::set<std::string>& changed);
  /// Whether the kernel still has what the last call made. True where none has: the next one makes
  /// everything. Throws std::system_error.
  [[nodiscard]] bool IsThere() const;
  /// Has the next call make everything anew.
  void Distrust() noexcept { is_known_ = false; }
  /// The netlink port of its changes, as NftEvents takes it: nobody else has it meanwhile. 0
  /// before the first change.
  [[nodiscard]] uint32_t port() const noexcept { return port_; }

 private:
  void Rebuild(const Filter& wanted, const AddressesOf& addresses_of);
  void Change(const Filter& wanted, const AddressesOf& addresses_of,
              const std::set<std::string>& changed);

  void Commit(NftBatch& batch);

  NlSocketPtr socket_;  ///< of the changes
  std::atomic<uint32_t> port_ = 0;
  bool is_known_ = false;  ///< the kernel has `filter_` and `sets_`
  Filter filter_;
  std::map<std::string, Addresses> sets_;
};

/// Drops the packets that have passed the filter and wait until a pod that is not plugged yet tells
/// its MAC: they came before the pod had its chain. Throws std::system_error.
void DropWaitingPackets(const std::set<IpAddress>& pod);

/// Removes the table. False when there was none. Throws std::system_error.
bool RemovePodFilter();

}  // namespace kuryr::binding
