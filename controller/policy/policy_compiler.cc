#include "controller/policy/policy_compiler.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/policy/admin_policy.h"
#include "controller/policy/compilation.h"

namespace kuryr::controller {

PolicyChanges PolicyCompiler::SetPolicy(const std::string& name_space, const std::string& name,
                                        const nlohmann::json& object) {
  return Set(name_space + "/" + name, name_space, DecodeNetworkPolicy(object));
}

PolicyChanges PolicyCompiler::RemovePolicy(const std::string& name_space, const std::string& name) {
  return Remove(name_space + "/" + name);
}

PolicyChanges PolicyCompiler::SetAdminPolicy(PolicyTier tier, const std::string& name,
                                             const nlohmann::json& object) {
  return Set(AdminPolicyKey(tier, name), "", DecodeAdminPolicy(object, tier));
}

PolicyChanges PolicyCompiler::RemoveAdminPolicy(PolicyTier tier, const std::string& name) {
  return Remove(AdminPolicyKey(tier, name));
}

PolicyChanges PolicyCompiler::Set(const std::string& key, const std::string& name_space,
                                  NetworkPolicy policy) {
  PolicyChanges changes;
  const auto [known, is_new] = policies_.try_emplace(key);
  if (!is_new && known->second.policy == policy) return changes;
  known->second.name_space = name_space;
  known->second.policy = std::move(policy);
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

PolicyChanges PolicyCompiler::Finish(PolicyChanges changes) {
  for (const std::string& key : sets_.TakeChangedPolicies()) Compile(key, changes);
  changes.pods = sets_.TakeChangedPods();
  return changes;
}

std::string AdminPolicyKey(PolicyTier tier, const std::string& name) {
  return (tier == PolicyTier::kAdmin ? "AdminNetworkPolicy/" : "BaselineAdminNetworkPolicy/") +
         name;
}

/// Uses new sets before it lets old ones go: a set that both need keeps its pods.
void PolicyCompiler::Compile(const std::string& key, PolicyChanges& changes) {
  Known& known = policies_.at(key);
  Compilation compilation(sets_, known.name_space, known.policy);
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
  if (error.empty() && compilation.has_more_parts())
    error = "$.spec: its named ports have more numbers than a policy may have";
  const bool is_same = known.compiled == compiled && known.error == error;
  if (is_same && !changes.policies.contains(key)) return;
  known.compiled = std::move(compiled);
  known.error = std::move(error);
  changes.policies.insert_or_assign(key, known.compiled);
  if (!known.error.empty()) changes.errors.insert_or_assign(key, known.error);
}

}  // namespace kuryr::controller
