#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "policy/policy_compiler.h"

namespace kuryr::policy {

/// Namespaces with as many pods and policies each. Each pod is of an application, and a policy
/// isolates the pods of each application. The policy allows another application of its namespace,
/// and the namespaces of a team: all their pods, or those of one application. It allows them a port
/// that pods name.
struct BigCluster {
  static constexpr size_t kApps = 10;  ///< of a namespace; each has a policy
  static constexpr size_t kTeams = 5;

  size_t namespaces = 50;
  size_t pods_of_each = 200;

  static std::string NameOf(size_t name_space) { return "n" + std::to_string(name_space); }
  static std::string AppOf(size_t app) { return "app" + std::to_string(app % kApps); }
  static Labels TeamOf(size_t team) { return {{"team", std::to_string(team % kTeams)}}; }
  static std::string UidOf(size_t name_space, size_t pod) {
    return NameOf(name_space) + "-" + std::to_string(pod);
  }
  static PolicyPod Pod(size_t name_space, size_t pod, size_t app) {
    return {.uid = UidOf(name_space, pod),
            .name_space = NameOf(name_space),
            .labels = {{"app", AppOf(app)}},
            .ports = {{{"tcp", "http"}, static_cast<uint16_t>(8000 + pod % 3)}}};
  }
  static PolicyPod Pod(size_t name_space, size_t pod) { return Pod(name_space, pod, pod); }
  /// The policy of an application, which allows the application `peer` to it.
  static nlohmann::json Policy(size_t app, size_t peer) {
    nlohmann::json team = {{"namespaceSelector", {{"matchLabels", TeamOf(app)}}}};
    if (app >= kTeams) team["podSelector"] = Selector(app);
    const nlohmann::json peers = {{{"podSelector", Selector(peer)}}, team};
    return {{"spec",
             {{"podSelector", Selector(app)},
              {"ingress", {{{"from", peers}, {"ports", {{{"port", "http"}}}}}}}}}};
  }
  static nlohmann::json Policy(size_t app) { return Policy(app, app + 1); }

  /// Calls `apply` with the changes of each object.
  template <typename Apply>
  void Fill(PolicyCompiler& compiler, const Apply& apply) const {
    for (size_t i = 0; i < namespaces; ++i) {
      apply(compiler.SetNamespace(NameOf(i), TeamOf(i)));
      for (size_t pod = 0; pod < pods_of_each; ++pod) apply(compiler.SetPod(Pod(i, pod)));
      for (size_t app = 0; app < kApps; ++app)
        apply(compiler.SetPolicy(NameOf(i), std::to_string(app), Policy(app)));
    }
  }

 private:
  static nlohmann::json Selector(size_t app) { return {{"matchLabels", {{"app", AppOf(app)}}}}; }
};

}  // namespace kuryr::policy
