#include "policy/policy_compiler.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "policy/multi_network_policy.h"

namespace kuryr::policy {
namespace {

std::string WhyUnknown(const std::string& definition) {
  return std::string("$.metadata.annotations") + PathStep(kPolicyForAnnotation) +
         ": names NetworkAttachmentDefinition " + definition +
         ", which does not exist or cannot be read; create or fix it, or name another one";
}

bool NamesNodes(const NetworkPolicy& policy) {
  return std::any_of(policy.rules.begin(), policy.rules.end(),
                     [](const NetworkPolicyRule& rule) { return !rule.nodes.empty(); });
}

}  // namespace

PolicyChanges PolicyCompiler::SetPolicy(const std::string& name_space, const std::string& name,
                                        const nlohmann::json& object) {
  return Set(name_space + "/" + name, name_space, DecodeNetworkPolicy(object));
}

PolicyChanges PolicyCompiler::RemovePolicy(const std::string& name_space, const std::string& name) {
  return Remove(name_space + "/" + name);
}

PolicyChanges PolicyCompiler::SetMultiPolicy(const std::string& name_space, const std::string& name,
                                             const nlohmann::json& object) {
  return Set(MultiPolicyKey(name_space, name), name_space,
             DecodeMultiNetworkPolicy(object, name_space));
}

PolicyChanges PolicyCompiler::RemoveMultiPolicy(const std::string& name_space,
                                                const std::string& name) {
  return Remove(MultiPolicyKey(name_space, name));
}

/// A text that names no network of any backend counts as none: sets have it in their names.
PolicyChanges PolicyCompiler::SetDefinition(const std::string& definition,
                                            const std::optional<std::string>& network) {
  const bool is_known = network && (network->empty() || IsDnsName(*network));
  const auto known = definitions_.find(definition);
  if (known == definitions_.end() ? !is_known : is_known && known->second == *network) return {};
  if (is_known) {
    definitions_[definition] = *network;
  } else {
    definitions_.erase(known);
  }
  PolicyChanges changes;
  for (const auto& [key, policy] : policies_) {
    const auto& named = policy.policy.definitions;
    if (named && std::find(named->begin(), named->end(), definition) != named->end())
      Compile(key, changes);
  }
  return Finish(std::move(changes));
}

PolicyChanges PolicyCompiler::SetAdminPolicy(const AdminKind& kind, const std::string& name,
                                             const nlohmann::json& object) {
  return Set(AdminPolicyKey(kind, name), "", DecodeAdminPolicy(object, kind));
}

PolicyChanges PolicyCompiler::RemoveAdminPolicy(const AdminKind& kind, const std::string& name) {
  return Remove(AdminPolicyKey(kind, name));
}

PolicyChanges PolicyCompiler::Set(const std::string& key, const std::string& name_space,
                                  NetworkPolicy policy) {
  PolicyChanges changes;
  const auto [known, is_new] = policies_.try_emplace(key);
  if (!is_new && known->second.policy == policy) return changes;
  known->second.name_space = name_space;
  known->second.policy = std::move(policy);
  if (NamesNodes(known->second.policy)) {
    of_nodes_.insert(key);
  } else {
    of_nodes_.erase(key);
  }
  if (is_new) changes.policies.emplace(key, known->second.compiled);
  Compile(key, changes);
  return Finish(std::move(changes));
}

PolicyChanges PolicyCompiler::Remove(const std::string& key) {
  PolicyChanges changes;
  const auto known = policies_.find(key);
  if (known == policies_.end()) return changes;
  for (const PodSetUse& use : known->second.uses) sets_.StopUsing(use, key);
  policies_.erase(known);
  of_nodes_.erase(key);
  changes.policies.emplace(key, std::nullopt);
  return Finish(std::move(changes));
}

PolicyChanges PolicyCompiler::SetPod(PolicyPod pod) {
  sets_.SetPod(std::move(pod));
  return Finish();
}

PolicyChanges PolicyCompiler::RemovePod(const std::string& uid) {
  sets_.RemovePod(uid);
  return Finish();
}

PolicyChanges PolicyCompiler::SetNamespace(const std::string& name, Labels labels) {
  sets_.SetNamespace(name, std::move(labels));
  return Finish();
}

PolicyChanges PolicyCompiler::RemoveNamespace(const std::string& name) {
  sets_.RemoveNamespace(name);
  return Finish();
}

PolicyChanges PolicyCompiler::SetNode(const std::string& name, PolicyNode node) {
  return nodes_.Set(name, std::move(node)) ? CompileOfNodes() : PolicyChanges();
}

PolicyChanges PolicyCompiler::RemoveNode(const std::string& name) {
  return nodes_.Remove(name) ? CompileOfNodes() : PolicyChanges();
}

PolicyChanges PolicyCompiler::CompileOfNodes() {
  PolicyChanges changes;
  for (const std::string& key : of_nodes_) Compile(key, changes);
  return Finish(std::move(changes));
}

PolicyChanges PolicyCompiler::Finish(PolicyChanges changes) {
  for (const std::string& key : sets_.TakeChangedPolicies()) Compile(key, changes);
  changes.pods = sets_.TakeChangedMembers();
  return changes;
}

std::string AdminPolicyKey(const AdminKind& kind, const std::string& name) {
  return std::string(kind.kind) + "/" + name;
}

std::string MultiPolicyKey(const std::string& name_space, const std::string& name) {
  return "MultiNetworkPolicy/" + name_space + "/" + name;
}

std::optional<PolicyNetworks> PolicyCompiler::NetworksOf(const NetworkPolicy& policy) const {
  if (!policy.definitions) return std::nullopt;
  PolicyNetworks networks;
  std::set<std::string> names;
  for (const std::string& definition : *policy.definitions) {
    const auto known = definitions_.find(definition);
    if (known == definitions_.end()) {
      networks.unknown = definition;
    } else if (!known->second.empty()) {
      names.insert(known->second);
    }
  }
  networks.names.assign(names.begin(), names.end());
  return networks;
}

/// Uses new sets before it lets old ones go: a set that both need keeps its pods.
void PolicyCompiler::Compile(const std::string& key, PolicyChanges& changes) {
  Known& known = policies_.at(key);
  const auto networks = NetworksOf(known.policy);
  Compilation compilation(sets_, nodes_, known.name_space, known.policy, networks);
  Compilation::Uses uses = compilation.Splits();
  for (const auto& [use, choice] : uses) sets_.Use(use, choice, key);
  CompiledPolicy compiled = compilation.Run();
  for (const auto& [use, choice] : compilation.wholes()) {
    sets_.Use(use, choice, key);
    uses.emplace(use, choice);
  }
  for (const PodSetUse& use : known.uses) {
    if (!uses.contains(use)) sets_.StopUsing(use, key);
  }
  known.uses.clear();
  for (const auto& [use, choice] : uses) known.uses.insert(use);

  std::string error = known.policy.problem;
  if (error.empty() && networks && networks->unknown) error = WhyUnknown(*networks->unknown);
  if (error.empty() && compilation.has_more_parts())
    error =
        "$.spec: its named ports have more numbers, or its nodes more addresses, than a policy may "
        "have";
  const bool is_same = known.compiled == compiled && known.error == error;
  if (is_same && !changes.policies.contains(key)) return;
  known.compiled = std::move(compiled);
  known.error = std::move(error);
  changes.policies.insert_or_assign(key, known.compiled);
  if (!known.error.empty()) changes.errors.insert_or_assign(key, known.error);
}

}  // namespace kuryr::policy
