#pragma once

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "compiled_cluster.h"
#include "policy/policy_compiler.h"

namespace kuryr::policy {

/// Two namespaces: team, with labels team=a, has the pods web and db; other, with labels team=b,
/// has the pods web and client. A pod's UID is NAMESPACE/NAME.
class PolicyTest : public ::testing::Test {
 protected:
  PolicyTest() {
    AddNamespace("team", {{"team", "a"}});
    AddNamespace("other", {{"team", "b"}});
    AddPod("team/web", {{"app", "web"}, {"tier", "front"}},
           {{.name = {.protocol = "tcp", .name = "http"}, .number = 8080}});
    AddPod("team/db", {{"app", "db"}},
           {{.name = {.protocol = "tcp", .name = "sql"}, .number = 5432}});
    AddPod("other/web", {{"app", "web"}},
           {{.name = {.protocol = "tcp", .name = "http"}, .number = 8000}});
    AddPod("other/client", {{"app", "client"}}, {});
  }

  void AddNamespace(const std::string& name, Labels labels) {
    cluster_.Apply(compiler_.SetNamespace(name, std::move(labels)));
  }
  void AddPod(const std::string& uid, Labels labels, std::vector<PolicyPod::NamedPort> ports) {
    const std::string name_space = uid.substr(0, uid.find('/'));
    addresses_.try_emplace(uid, IpAddress::Parse("10.4.0." + std::to_string(addresses_.size())));
    cluster_.Apply(compiler_.SetPod({.uid = uid,
                                     .name_space = name_space,
                                     .labels = std::move(labels),
                                     .ports = std::move(ports)}));
  }
  void RemovePod(const std::string& uid) { cluster_.Apply(compiler_.RemovePod(uid)); }

  /// The policy team/p has this spec from now on. Returns what is wrong with it.
  std::string Set(const std::string& spec) { return SetSpec(nlohmann::json::parse(spec)); }
  std::string SetSpec(const nlohmann::json& spec) {
    cluster_.Apply(compiler_.SetPolicy("team", "p", {{"spec", spec}}));
    cluster_.ExpectNamedSets();
    return cluster_.ErrorOf("team/p");
  }
  void Remove() { cluster_.Apply(compiler_.RemovePolicy("team", "p")); }

  /// Whether one may begin a connection with the other. Each is a pod's UID, or an address.
  [[nodiscard]] bool Passes(const std::string& from, const std::string& to, uint16_t port = 80,
                            const std::string& protocol = "tcp") const {
    const Traffic traffic{.from = EndOf(from), .to = EndOf(to), .protocol = protocol, .port = port};
    return cluster_.MaySend(traffic) && cluster_.MayReceive(traffic);
  }

  PolicyCompiler compiler_;
  CompiledCluster cluster_;

 private:
  [[nodiscard]] TrafficEnd EndOf(const std::string& text) const {
    const auto pod = addresses_.find(text);
    if (pod != addresses_.end()) return {.uid = text, .address = pod->second};
    return {.uid = "", .address = IpAddress::Parse(text)};
  }

  std::map<std::string, std::optional<IpAddress>> addresses_;
};

}  // namespace kuryr::policy
