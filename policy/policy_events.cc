#include "policy/policy_events.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "policy/policy_pod.h"

namespace kuryr::policy {

PolicyChanges Compile(PolicyCompiler& compiler, const watcher::WatchEvent& event) {
  const bool is_there = event.type != watcher::EventType::kDeleted;
  if (event.kind == "NetworkPolicy") {
    return is_there ? compiler.SetPolicy(event.name_space, event.name, *event.object)
                    : compiler.RemovePolicy(event.name_space, event.name);
  }
  if (event.kind == "MultiNetworkPolicy") {
    return is_there ? compiler.SetMultiPolicy(event.name_space, event.name, *event.object)
                    : compiler.RemoveMultiPolicy(event.name_space, event.name);
  }
  if (const AdminKind* kind = FindAdminKind(event.kind)) {
    return is_there ? compiler.SetAdminPolicy(*kind, event.name, *event.object)
                    : compiler.RemoveAdminPolicy(*kind, event.name);
  }
  if (event.kind == "Namespace") {
    return is_there ? compiler.SetNamespace(event.name, LabelsOf(*event.object))
                    : compiler.RemoveNamespace(event.name);
  }
  if (event.kind == "Node") {
    return is_there ? compiler.SetNode(event.name, PolicyNodeOf(*event.object))
                    : compiler.RemoveNode(event.name);
  }
  if (event.kind != "Pod") return {};
  auto pod = is_there ? PolicyPodOf(*event.object) : std::nullopt;
  return pod ? compiler.SetPod(std::move(*pod)) : compiler.RemovePod(event.uid);
}

}  // namespace kuryr::policy
