#pragma once

#include "policy/compiled_policy.h"
#include "policy/policy_compiler.h"
#include "watcher/watch_event.h"

namespace kuryr::policy {

/// Tells the compiler of a Pod, a Namespace, a Node or a policy of any kind, as a watch tells it.
/// Other kinds change nothing.
[[nodiscard]] PolicyChanges Compile(PolicyCompiler& compiler, const watcher::WatchEvent& event);

}  // namespace kuryr::policy
