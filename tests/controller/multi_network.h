#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/resource.h"

namespace kuryr::test {

/// KuryrPorts, NetworkAttachmentDefinitions and MultiNetworkPolicies.
inline std::vector<fake::Resource> MultiNetworkKinds() {
  const auto of = [](const char* version, const char* plural, const char* kind) {
    return fake::Resource{.group = "k8s.cni.cncf.io",
                          .version = version,
                          .plural = plural,
                          .kind = kind,
                          .custom = true};
  };
  return {fake::KuryrPorts(),
          of("v1", "network-attachment-definitions", "NetworkAttachmentDefinition"),
          of("v1beta1", "multi-networkpolicies", "MultiNetworkPolicy")};
}

/// The definition of a pool, in namespace default.
inline nlohmann::json DefinitionOf(const std::string& name, const std::string& pool) {
  const std::string config = nlohmann::json({{"pool", pool}}).dump();
  return {{"kind", "NetworkAttachmentDefinition"},
          {"apiVersion", "k8s.cni.cncf.io/v1"},
          {"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"annotations", {{"openstack.org/kuryr-config", config}}}}}};
}

/// A MultiNetworkPolicy in namespace default, for these definitions.
inline nlohmann::json MultiPolicyOf(const std::string& name, const std::string& definitions,
                                    const nlohmann::json& spec) {
  return {{"kind", "MultiNetworkPolicy"},
          {"apiVersion", "k8s.cni.cncf.io/v1beta1"},
          {"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"annotations", {{"k8s.v1.cni.cncf.io/policy-for", definitions}}}}},
          {"spec", spec}};
}

}  // namespace kuryr::test
