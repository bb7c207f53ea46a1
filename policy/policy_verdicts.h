#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ip.h"
#include "policy/compiled_policy.h"
#include "policy/policy_compiler.h"

namespace kuryr::policy {

/// One end of a connection.
struct TrafficEnd {
  std::string uid;                   ///< of a pod; empty: no policy applies to this end
  std::optional<IpAddress> address;  ///< nullopt: none yet, so no block matches
  std::string network;               ///< of its interface; empty: eth0
};

/// A connection that begins.
struct Traffic {
  TrafficEnd from;
  TrafficEnd to;
  std::string protocol;  ///< as PortRange's; any other is allowed only by rules of any port
  uint16_t port = 0;
};

/// The policies' answer on traffic at one of its ends. Names are those of PolicyChanges.
struct PolicyVerdict {
  std::string passing;                 ///< an admin's policy that passes it on; empty: none does
  std::vector<std::string> isolating;  ///< NetworkPolicies that isolate the pod, if they are asked
  std::string policy;                  ///< the one that allows or denies; empty: none does
  std::optional<PolicyRule> rule;      ///< its first rule that does

  [[nodiscard]] bool is_allowed() const noexcept {
    return rule ? rule->action == PolicyAction::kAllow : isolating.empty();
  }
};

/// The policies and pods after all changes of a PolicyCompiler, and the traffic that they allow.
/// Not thread-safe.
class PolicyVerdicts {
 public:
  void Apply(const PolicyChanges& changes);

  [[nodiscard]] PolicyVerdict OnSending(const Traffic& traffic) const;
  [[nodiscard]] PolicyVerdict OnReceiving(const Traffic& traffic) const;
  /// Whether the pod's interfaces on the network are in the set; `network` as TrafficEnd's.
  [[nodiscard]] bool IsIn(const std::string& uid, const PodSet& set,
                          const std::string& network = "") const;

  /// By NAMESPACE/NAME.
  [[nodiscard]] const std::map<std::string, CompiledPolicy>& policies() const noexcept {
    return policies_;
  }
  /// The names of the admins' policies of a tier, in the order in which they are asked.
  [[nodiscard]] std::vector<std::string> OrderOf(PolicyTier tier) const;
  /// The sets of members that are in any.
  [[nodiscard]] const MemberSets& pods() const noexcept { return pods_; }
  /// The field that is not understood of a policy, and why, by NAMESPACE/NAME.
  [[nodiscard]] const std::map<std::string, std::string>& errors() const noexcept {
    return errors_;
  }

  bool operator==(const PolicyVerdicts&) const = default;

 private:
  struct Question {
    TrafficDirection direction = TrafficDirection::kIngress;
    const TrafficEnd& subject;
    const TrafficEnd& peer;
    const Traffic& traffic;
  };
  [[nodiscard]] PolicyVerdict Judge(const Question& question) const;
  void AskNetworkPolicies(const Question& question, PolicyVerdict& verdict) const;
  void AskAdmins(PolicyTier tier, const Question& question, PolicyVerdict& verdict) const;
  [[nodiscard]] bool Matches(const PolicyRule& rule, const Question& question) const;
  [[nodiscard]] bool HasPeer(const PolicyRule& rule, const TrafficEnd& peer) const;

  std::map<std::string, CompiledPolicy> policies_;
  MemberSets pods_;
  std::map<std::string, std::string> errors_;
};

/// Whether the policy isolates its subject in this direction.
[[nodiscard]] bool Isolates(const CompiledPolicy& policy, TrafficDirection direction) noexcept;

/// Admins' policies of one tier as they are asked: those of low priority first, and then by name.
[[nodiscard]] std::vector<std::string> AdminOrder(
    const std::map<std::string, CompiledPolicy>& policies, PolicyTier tier);

/// "from ns=a pods=app=web or 10.0.0.0/8 except 10.1.0.0/16, tcp/80": a rule for people.
[[nodiscard]] std::string Readable(const PolicyRule& rule);
/// What a policy does by the action, before the text of its rule: "allows".
[[nodiscard]] const char* VerbOf(PolicyAction action);

}  // namespace kuryr::policy
