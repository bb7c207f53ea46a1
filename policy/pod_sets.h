#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "policy/compiled_policy.h"
#include "policy/label_selector.h"
#include "policy/network_policy.h"
#include "policy/policy_pod.h"

namespace kuryr::policy {

/// Chooses members: by their networks, by a namespace or labels of namespaces, and by the pods' own
/// labels.
struct PodChoice {
  std::string name_space;                   ///< empty: `namespaces` chooses
  std::optional<LabelSelector> namespaces;  ///< nullopt: `name_space` chooses
  LabelSelector pods;
  std::optional<std::vector<std::string>> networks;  ///< sorted; nullopt: interface eth0

  [[nodiscard]] PodSet name() const;
};

/// How a policy uses a set of pods: as a whole, or split by the number of a named port.
struct PodSetUse {
  PodSet set;
  std::optional<PortName> port;

  auto operator<=>(const PodSetUse&) const = default;
};

/// The pods of a set whose named port has this number.
[[nodiscard]] PodSet PartOf(const PodSet& set, const PortName& port, uint16_t number);

/// The sets of pods that policies use, and the pods in them. A set lives while a policy uses it.
/// Not thread-safe.
class PodSets {
 public:
  void SetPod(PolicyPod pod);
  void RemovePod(const std::string& uid);
  void SetNamespace(const std::string& name, Labels labels);
  void RemoveNamespace(const std::string& name);

  void Use(const PodSetUse& use, const PodChoice& choice, const std::string& policy);
  void StopUsing(const PodSetUse& use, const std::string& policy);

  /// The numbers that the set's pods give to this port, which a policy uses.
  [[nodiscard]] std::vector<uint16_t> NumbersOf(const PodSet& set, const PortName& port) const;

  /// Members that are in other sets than at the last call, with all sets that they are in.
  [[nodiscard]] MemberSets TakeChangedMembers();
  /// Policies that use a named port with more or fewer numbers than at the last call.
  [[nodiscard]] std::set<std::string> TakeChangedPolicies();

  /// How often a pod, or a namespace, was compared with a selector.
  [[nodiscard]] uint64_t comparisons() const noexcept { return comparisons_; }

 private:
  struct Pod;
  struct Split {
    std::set<std::string> policies;
    std::map<uint16_t, size_t> pods;  ///< how many pods have the number
  };
  struct Set {
    PodSet name;
    PodChoice choice;
    std::set<std::string> policies;  ///< that use it as a whole
    std::map<PortName, Split> splits;
    std::unordered_set<Pod*> pods;
  };
  struct Pod {
    PolicyPod facts;
    std::unordered_set<Set*> sets;
  };
  struct Namespace {
    std::optional<Labels> labels;  ///< nullopt: the namespace is not known
    std::unordered_set<Pod*> pods;
    std::unordered_set<Set*> sets;  ///< that pods of the namespace may be in
  };

  [[nodiscard]] static std::optional<uint16_t> NumberOf(const Pod& pod, const PortName& port);
  [[nodiscard]] static bool IsSeen(const Set& set, const Pod& pod);
  /// The names of the sets that the pod's members are in.
  [[nodiscard]] static MemberSets NamesOf(const Pod& pod);
  [[nodiscard]] bool Chooses(const LabelSelector& selector, const Labels& labels);
  Set& FindOrAdd(const PodSet& name, const PodChoice& choice);
  void Remove(std::unordered_map<PodSet, Set>::iterator set);
  void Try(Set& set, Namespace& name_space);
  void Try(Set& set, Pod& pod);
  void Join(Set& set, Pod& pod);
  void Leave(Set& set, Pod& pod);
  void LeaveAll(Pod& pod);
  void Tell(const Set& set, const Pod& pod);
  void Tell(const std::set<std::string>& policies);
  void RemoveIfUnused(const std::string& name_space);

  std::unordered_map<PodSet, Set> sets_;
  std::unordered_set<Set*> wide_sets_;  ///< that choose namespaces by their labels
  std::unordered_map<std::string, Pod> pods_;
  std::unordered_map<std::string, Namespace> namespaces_;
  std::unordered_set<PolicyMember> changed_members_;
  std::set<std::string> changed_policies_;
  uint64_t comparisons_ = 0;
};

}  // namespace kuryr::policy
