#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ip.h"
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

/// Changes with every change of the namespace's rules. Throws std::system_error, its text beginning
/// with `what`.
[[nodiscard]] uint32_t RulesetGeneration(const std::string& what);

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
  void FlushChain(const std::string& chain);
  void AddRule(const std::string& chain, const NatRule& rule);
  /// With its rules. ENOENT when there is none.
  void DeleteChain(const std::string& chain);
  /// EBUSY when it has chains, ENOENT when there is none.
  void DeleteEmptyTable();

  /// The last call, in the calling thread's namespace. The answer is the first refusal, if any.
  /// Throws std::system_error, its text beginning with `what`, when the socket fails.
  [[nodiscard]] NlAnswer Commit(const std::string& what);

 private:
  nl_msg& Append(int type, int flags);

  std::string table_;
  std::vector<NlMsgPtr> messages_;
};

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
