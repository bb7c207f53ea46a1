#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ip.h"
#include "binding/netlink/nft_message.h"
#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

struct NlAnswer;

/// A rule of a nat chain. Packets it does not match go on to the next rule.
struct NatRule {
  enum class Verdict { kReturn, kMasquerade };

  IpNetwork source;
  IpNetwork destination;  ///< of the same family
  Verdict verdict = Verdict::kReturn;
};

/// A set of the batch that adds it. The kernel removes the set with the rule that names it.
struct NftSet {
  std::string name;
  uint32_t id = 0;
};

/// A map of the batch from an address to a chain. Its elements are those of a set.
struct NftJump {
  IpAddress address;
  std::string chain;
};

/// Ports from the first to the last.
struct NftPorts {
  uint16_t first = 0;
  uint16_t last = UINT16_MAX;

  bool operator==(const NftPorts&) const = default;
};

/// A change of one table of family inet (nft(8)). The kernel does it whole or not at all, even if
/// others change rules meanwhile. Needs Linux 5.2, the first with NAT in inet. Not thread-safe.
class NftBatch {
 public:
  /// Where `generation` is not the ruleset's any more, what was read may be out of date. Then
  /// nothing is done, and the answer is ERESTART.
  explicit NftBatch(std::string table, std::optional<uint32_t> generation = std::nullopt);

  /// Fine when it is there already.
  void AddTable();
  /// "type nat hook postrouting priority srcnat"; fine when it is there already.
  void AddSourceNatChain(const std::string& chain);
  /// "type filter hook output priority filter"; fine when it is there already.
  void AddOutputChain(const std::string& chain);
  /// "type filter hook forward priority filter + OFFSET"; fine when it is there already.
  void AddForwardChain(const std::string& chain, int offset);
  /// "type filter hook input priority filter"; fine when it is there already.
  void AddInputChain(const std::string& chain);
  /// A chain that others jump to; fine when it is there already.
  void AddChain(const std::string& chain);
  void FlushChain(const std::string& chain);
  void AddRule(const std::string& chain, const NatRule& rule);
  /// Adds a rule of the expressions that `fill` puts (nft_message.h). `note`, of at most 255 bytes,
  /// says all that the rule does.
  void AddRule(const std::string& chain, const std::string& note,
               const std::function<void(nl_msg& rule)>& fill);
  /// For the next rule alone. Such a set cannot be changed later.
  [[nodiscard]] NftSet AddSet(IpFamily family, std::span<const NftInterval> intervals);
  /// As AddSet, of ports; `ranges` are in order, and none overlaps or touches the next.
  [[nodiscard]] NftSet AddPortSet(std::span<const NftPorts> ranges);
  /// A set that rules name, and that can be changed; without elements at first.
  void AddNamedSet(const std::string& set, IpFamily family);
  /// As AddNamedSet; its keys are a source and a destination.
  void AddPairSet(const std::string& set, IpFamily family);
  /// As AddNamedSet, from addresses to chains.
  void AddVerdictMap(const std::string& map, IpFamily family);
  void AddAddresses(const std::string& set, std::span<const IpAddress> addresses);
  /// Each address to itself.
  void AddPairs(const std::string& set, std::span<const IpAddress> addresses);
  void AddJumps(const std::string& map, std::span<const NftJump> jumps);
  /// Of a set or a map. ENOENT when one is not there.
  void DeleteAddresses(const std::string& set, std::span<const IpAddress> addresses);
  void DeletePairs(const std::string& set, std::span<const IpAddress> addresses);
  /// EBUSY while a rule names it.
  void DeleteSet(const std::string& set);
  /// With its rules. ENOENT when there is none. EBUSY while a map or a rule leads to it.
  void DeleteChain(const std::string& chain);
  /// EBUSY when it has chains, ENOENT when there is none.
  void DeleteEmptyTable();
  /// With its chains. ENOENT when there is none.
  void DeleteTable();

  /// Whether nothing would change.
  [[nodiscard]] bool empty() const noexcept { return messages_.size() == 1; }
  /// The last call, in the calling thread's namespace. The answer is the first refusal, if any.
  /// Throws std::system_error, its text beginning with `what`, when the socket fails.
  [[nodiscard]] NlAnswer Commit(const std::string& what);
  /// The same by a netfilter socket of batches alone.
  [[nodiscard]] NlAnswer Commit(nl_sock& socket, const std::string& what);

 private:
  nl_msg& Append(int type, int flags);
  void AddBaseChain(const std::string& chain, const char* type, uint32_t hook, int priority);
  /// Returns the message, which further attributes may follow.
  nl_msg& AppendSet(const NftSet& set, uint32_t flags, uint32_t type, uint32_t key_bytes);
  NftSet AddConstantSet(uint32_t type, uint32_t key_bytes);
  void AddNamed(const std::string& set, uint32_t flags, uint32_t type, uint32_t key_bytes);
  void ChangeElements(int type, const NftSet& set, const std::function<void(nl_msg&)>& fill);
  template <typename Items, typename Put>
  void ChangeElements(int type, const NftSet& set, Items items, const Put& put);

  std::string table_;
  uint32_t sets_ = 0;
  std::vector<NlMsgPtr> messages_;
};

/// Removes a table with all that is in it. False when there was none. Throws std::system_error, its
/// text beginning with `what`.
bool RemoveNftTable(const std::string& table, const std::string& what);

/// Whether the rules of `chain` in table "inet TABLE" are these in this order, as NftBatch notes on
/// each rule that it adds (NFTA_RULE_USERDATA, which nft does not print). No chain has no rules.
/// Throws std::system_error, its text beginning with `what`.
[[nodiscard]] bool HasRules(const std::string& table, const std::string& chain,
                            std::span<const NatRule> rules, const std::string& what);

/// The sources that rules of the chain masquerade, as far as NftBatch added them. Throws as
/// HasRules.
[[nodiscard]] std::vector<IpNetwork> MasqueradedIn(const std::string& table,
                                                   const std::string& chain,
                                                   const std::string& what);

}  // namespace kuryr::binding
