#include "policy/pod_sets.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace kuryr::policy {
namespace {

/// The networks, or a digest in place of a long list: each pod in a set keeps its name.
std::string Listed(const std::vector<std::string>& networks) {
  constexpr size_t kLongestList = 64;
  std::string text;
  for (const std::string& network : networks) text.append(text.empty() ? "" : ",").append(network);
  return text.size() > kLongestList ? "networks " + DigestOf(text) : text;
}

/// Calls `act` for the pod's members on the networks of the choice.
template <typename Act>
void ForEachMember(const PodChoice& choice, const std::string& uid, const Act& act) {
  if (!choice.networks) return act(uid);
  for (const std::string& network : *choice.networks) act(MemberOf(uid, network));
}

}  // namespace

PodSet PodChoice::name() const {
  PodSet text = networks ? "on " + Listed(*networks) + " " : "";
  if (namespaces) {
    text.append("namespaces=").append(namespaces->ToString());
  } else {
    text.append("ns=").append(name_space);
  }
  return text.append(" pods=").append(pods.ToString());
}

PodSet PartOf(const PodSet& set, const PortName& port, uint16_t number) {
  return set + "|" + port.protocol + "/" + port.name + "=" + std::to_string(number);
}

std::optional<uint16_t> PodSets::NumberOf(const Pod& pod, const PortName& port) {
  for (const PolicyPod::NamedPort& named : pod.facts.ports) {
    if (named.name == port) return named.number;
  }
  return std::nullopt;
}

/// Whether the pod is in a set that a compiled policy names.
bool PodSets::IsSeen(const Set& set, const Pod& pod) {
  return !set.policies.empty() ||
         std::any_of(set.splits.begin(), set.splits.end(),
                     [&](const auto& split) { return NumberOf(pod, split.first).has_value(); });
}

MemberSets PodSets::NamesOf(const Pod& pod) {
  MemberSets names;
  for (const Set* set : pod.sets) {
    ForEachMember(set->choice, pod.facts.uid, [&](const PolicyMember& member) {
      for (const auto& [port, split] : set->splits) {
        if (const auto number = NumberOf(pod, port))
          names[member].insert(PartOf(set->name, port, *number));
      }
      if (!set->policies.empty()) names[member].insert(set->name);
    });
  }
  return names;
}

bool PodSets::Chooses(const LabelSelector& selector, const Labels& labels) {
  ++comparisons_;
  return selector.Matches(labels);
}

void PodSets::SetPod(PolicyPod facts) {
  const std::string uid = facts.uid;
  Pod& pod = pods_[uid];
  if (pod.facts == facts) return;
  std::unordered_set<PolicyMember> told = std::exchange(changed_members_, {});
  MemberSets before = NamesOf(pod);
  if (pod.facts.ports != facts.ports || pod.facts.name_space != facts.name_space) LeaveAll(pod);
  if (pod.facts.name_space != facts.name_space) {
    namespaces_[pod.facts.name_space].pods.erase(&pod);
    RemoveIfUnused(pod.facts.name_space);
  }
  pod.facts = std::move(facts);
  Namespace& name_space = namespaces_[pod.facts.name_space];
  name_space.pods.insert(&pod);
  for (Set* set : name_space.sets) Try(*set, pod);
  MemberSets after = NamesOf(pod);
  std::erase_if(changed_members_,
                [&](const PolicyMember& member) { return before[member] == after[member]; });
  changed_members_.merge(told);
}

void PodSets::RemovePod(const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  const std::string name_space = pod->second.facts.name_space;
  LeaveAll(pod->second);
  namespaces_[name_space].pods.erase(&pod->second);
  pods_.erase(pod);
  RemoveIfUnused(name_space);
}

void PodSets::SetNamespace(const std::string& name, Labels labels) {
  Namespace& name_space = namespaces_[name];
  if (name_space.labels == labels) return;
  name_space.labels = std::move(labels);
  for (Set* set : wide_sets_) Try(*set, name_space);
}

void PodSets::RemoveNamespace(const std::string& name) {
  const auto known = namespaces_.find(name);
  if (known == namespaces_.end()) return;
  known->second.labels.reset();
  for (Set* set : wide_sets_) Try(*set, known->second);
  RemoveIfUnused(name);
}

void PodSets::RemoveIfUnused(const std::string& name) {
  const auto known = namespaces_.find(name);
  if (known == namespaces_.end()) return;
  const Namespace& name_space = known->second;
  if (!name_space.labels && name_space.pods.empty() && name_space.sets.empty())
    namespaces_.erase(known);
}

void PodSets::Use(const PodSetUse& use, const PodChoice& choice, const std::string& policy) {
  Set& set = FindOrAdd(use.set, choice);
  if (!use.port) {
    if (set.policies.empty()) {
      for (const Pod* pod : set.pods) Tell(set, *pod);
    }
    set.policies.insert(policy);
    return;
  }
  const auto [split, is_new] = set.splits.try_emplace(*use.port);
  split->second.policies.insert(policy);
  if (!is_new) return;
  for (const Pod* pod : set.pods) {
    const auto number = NumberOf(*pod, *use.port);
    if (!number) continue;
    ++split->second.pods[*number];
    Tell(set, *pod);
  }
}

void PodSets::StopUsing(const PodSetUse& use, const std::string& policy) {
  const auto known = sets_.find(use.set);
  Set& set = known->second;
  if (!use.port) {
    set.policies.erase(policy);
    if (set.policies.empty()) {
      for (const Pod* pod : set.pods) Tell(set, *pod);
    }
  } else {
    const auto split = set.splits.find(*use.port);
    split->second.policies.erase(policy);
    if (split->second.policies.empty()) {
      for (const Pod* pod : set.pods) {
        if (NumberOf(*pod, *use.port)) Tell(set, *pod);
      }
      set.splits.erase(split);
    }
  }
  if (set.policies.empty() && set.splits.empty()) Remove(known);
}

PodSets::Set& PodSets::FindOrAdd(const PodSet& name, const PodChoice& choice) {
  const auto [known, is_new] = sets_.try_emplace(name);
  Set& set = known->second;
  if (!is_new) return set;
  set.name = name;
  set.choice = choice;
  if (choice.namespaces) {
    wide_sets_.insert(&set);
    for (auto& [name_space, facts] : namespaces_) Try(set, facts);
  } else {
    Namespace& name_space = namespaces_[choice.name_space];
    name_space.sets.insert(&set);
    for (Pod* pod : name_space.pods) Try(set, *pod);
  }
  return set;
}

void PodSets::Remove(std::unordered_map<PodSet, Set>::iterator known) {
  Set& set = known->second;
  for (Pod* pod : set.pods) pod->sets.erase(&set);
  if (wide_sets_.erase(&set) > 0) {
    for (auto& [name, name_space] : namespaces_) name_space.sets.erase(&set);
  } else {
    namespaces_[set.choice.name_space].sets.erase(&set);
    RemoveIfUnused(set.choice.name_space);
  }
  sets_.erase(known);
}

/// Has the set choose again among the namespace's pods, if the namespace joins or leaves it.
void PodSets::Try(Set& set, Namespace& name_space) {
  const bool is_chosen = name_space.labels && Chooses(*set.choice.namespaces, *name_space.labels);
  if (is_chosen) {
    if (!name_space.sets.insert(&set).second) return;
    for (Pod* pod : name_space.pods) Try(set, *pod);
  } else if (name_space.sets.erase(&set) > 0) {
    for (Pod* pod : name_space.pods) Leave(set, *pod);
  }
}

void PodSets::Try(Set& set, Pod& pod) {
  if (Chooses(set.choice.pods, pod.facts.labels)) {
    Join(set, pod);
  } else {
    Leave(set, pod);
  }
}

void PodSets::Join(Set& set, Pod& pod) {
  if (!pod.sets.insert(&set).second) return;
  set.pods.insert(&pod);
  for (auto& [port, split] : set.splits) {
    const auto number = NumberOf(pod, port);
    if (number && ++split.pods[*number] == 1) Tell(split.policies);
  }
  if (IsSeen(set, pod)) Tell(set, pod);
}

void PodSets::Leave(Set& set, Pod& pod) {
  if (pod.sets.erase(&set) == 0) return;
  set.pods.erase(&pod);
  for (auto& [port, split] : set.splits) {
    const auto number = NumberOf(pod, port);
    if (!number || --split.pods[*number] > 0) continue;
    split.pods.erase(*number);
    Tell(split.policies);
  }
  if (IsSeen(set, pod)) Tell(set, pod);
}

void PodSets::LeaveAll(Pod& pod) {
  const std::vector<Set*> sets(pod.sets.begin(), pod.sets.end());
  for (Set* set : sets) Leave(*set, pod);
}

void PodSets::Tell(const Set& set, const Pod& pod) {
  ForEachMember(set.choice, pod.facts.uid,
                [&](const PolicyMember& member) { changed_members_.insert(member); });
}

void PodSets::Tell(const std::set<std::string>& policies) {
  changed_policies_.insert(policies.begin(), policies.end());
}

std::vector<uint16_t> PodSets::NumbersOf(const PodSet& set, const PortName& port) const {
  std::vector<uint16_t> numbers;
  const auto known = sets_.find(set);
  if (known == sets_.end()) return numbers;
  const auto split = known->second.splits.find(port);
  if (split == known->second.splits.end()) return numbers;
  numbers.reserve(split->second.pods.size());
  for (const auto& [number, pods] : split->second.pods) numbers.push_back(number);
  return numbers;
}

MemberSets PodSets::TakeChangedMembers() {
  MemberSets changed;
  for (const PolicyMember& member : std::exchange(changed_members_, {})) {
    const auto pod = pods_.find(PodOf(member));
    changed[member] = pod == pods_.end() ? std::set<PodSet>() : NamesOf(pod->second)[member];
  }
  return changed;
}

std::set<std::string> PodSets::TakeChangedPolicies() {
  return std::exchange(changed_policies_, {});
}

}  // namespace kuryr::policy
