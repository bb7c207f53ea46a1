#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/neutron/security/policy_groups.h"
#include "tests/controller/backends/neutron/neutron_fixture.h"

namespace kuryr::controller::neutron {

inline constexpr const char* kOwn = "own-group";
inline constexpr const char* kNamed = "named-group";

/// A policy that isolates a set of pods, and lets in TCP 80 from its friends.
inline policy::CompiledPolicy IngressOf(const policy::PodSet& set) {
  return {.subject = set,
          .isolates_ingress = true,
          .rules = {{.subject = set, .peers = {"friends"}, .ports = {{"tcp", 80, 80}}}}};
}

class IsolationTest : public NeutronBackendTest {
 protected:
  IsolationTest() {
    defaults_.security_groups = {kOwn};
    defaults_.more_groups = {kNamed};
    defaults_.enforces_policies = true;
  }

  void StartWith(const policy::PolicyChanges& changes = {}) {
    Start();
    backend_->Enforce(changes);
    backend_->EndAdoption();
  }
  /// The names of a port's groups; a group that no policy needs has its id for a name.
  [[nodiscard]] std::set<std::string> GroupsOf(const Port& port) const {
    std::set<std::string> names;
    for (const std::string& id : port.security_groups) names.insert(NameOf(id));
    return names;
  }
  [[nodiscard]] std::set<std::string> GroupsOf(const vif::PodVif& vif) const {
    for (const Port& port : neutron_.ports()) {
      if (port.id == IdOf(vif)) return GroupsOf(port);
    }
    return {};
  }
  [[nodiscard]] std::string NameOf(const std::string& id) const {
    for (const SecurityGroup& group : neutron_.groups()) {
      if (group.id == id) return group.name;
    }
    return id;
  }
  [[nodiscard]] std::optional<SecurityGroup> Find(const GroupName& name) const {
    for (const SecurityGroup& group : neutron_.groups()) {
      if (group.name == name) return group;
    }
    return std::nullopt;
  }
  /// Waits until the owner's only port has as many groups, and says whether they are these.
  bool WaitForGroups(const std::string& id, const std::set<std::string>& wanted) {
    return neutron_.WaitUntil([&](const std::vector<Port>& ports) {
      return std::any_of(ports.begin(), ports.end(), [&](const Port& port) {
        return port.device_id == id && port.security_groups.size() == wanted.size();
      });
    }) && NamesOf(id) == wanted;
  }
  bool WaitForGroups(const vif::PodVif& vif, const std::set<std::string>& wanted) {
    return neutron_.WaitUntil([&](const std::vector<Port>& ports) {
      return std::any_of(ports.begin(), ports.end(), [&](const Port& port) {
        return port.id == IdOf(vif) && port.security_groups.size() == wanted.size();
      });
    }) && GroupsOf(vif) == wanted;
  }
  [[nodiscard]] std::set<std::string> NamesOf(const std::string& owner_id) const {
    for (const Port& port : neutron_.ports()) {
      if (port.device_id == owner_id) return GroupsOf(port);
    }
    return {};
  }
  Vifs Run(const PlanRequest& request) {
    Vifs vifs = Reserve(request);
    backend_->Adopt(request.owner, Written(vifs, true));
    return vifs;
  }
  Vifs Run(const Owner& owner) { return Run(RequestOf(owner)); }

  const std::string web_ = GroupNameOf("web");
  const std::string friends_ = GroupNameOf("friends");
  const PolicyGroups::Names fixed_ = PolicyGroups::names();
  const std::set<std::string> isolated_ = {web_, fixed_.access, fixed_.open_egress};
};

}  // namespace kuryr::controller::neutron
