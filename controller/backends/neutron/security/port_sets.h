#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "controller/backends/neutron/security/policed_port.h"
#include "controller/backends/neutron/settings/pod_defaults.h"
#include "policy/compiled_policy.h"

namespace kuryr::controller::neutron {

/// The sets of pods that ports are in. A network's name is a pool of kuryr.conf, or a subnet's id:
/// a port is on each network that names one of its subnets. Not thread-safe.
class PortSets {
 public:
  using Passes = std::function<bool(const std::set<policy::PodSet>& sets)>;

  /// Borrows the defaults.
  explicit PortSets(const PodDefaults& defaults) : defaults_(defaults) {}

  /// The members are in these sets from now on.
  void Take(const policy::MemberSets& changes);

  [[nodiscard]] std::set<policy::PodSet> Of(const std::string& pod_uid,
                                            const PolicedPort& port) const;
  /// Whether the sets of one of the pod's members pass. A pod also is a member on networks that it
  /// has no port on.
  [[nodiscard]] bool AnyOf(const std::string& pod_uid, const Passes& passes) const;
  /// The UIDs of pods with AnyOf.
  [[nodiscard]] std::set<std::string> PodsWith(const Passes& passes) const;

 private:
  [[nodiscard]] bool IsOn(const PolicedPort& port, const std::string& network) const;
  /// The pod's members.
  [[nodiscard]] std::vector<policy::MemberSets::const_iterator> MembersOf(
      const std::string& pod_uid) const;

  const PodDefaults& defaults_;
  policy::MemberSets members_;
};

}  // namespace kuryr::controller::neutron
