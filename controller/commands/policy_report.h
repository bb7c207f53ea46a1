#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/ip.h"
#include "controller/commands/asked_port.h"
#include "policy/policy_verdicts.h"

namespace kuryr::controller {

/// A pod that command `policy` is asked for.
struct AskedPod {
  std::string name;  ///< NAMESPACE/NAME
  std::string uid;   ///< empty: no policy selects it
  std::vector<IpAddress> addresses;
};

/// A rule of a policy, for people.
struct ReportedRule {
  std::string policy;  ///< NAMESPACE/NAME
  policy::PolicyAction action = policy::PolicyAction::kAllow;
  std::string text;
};

/// A policy that selects a pod and is not understood.
struct ReportedError {
  std::string policy;
  std::string why;
};
[[nodiscard]] std::vector<ReportedError> ErrorsOf(const policy::PolicyVerdicts& verdicts,
                                                  const AskedPod& pod);

/// What policies say of a pod's interfaces on a network, in one direction.
struct SideReport {
  policy::TrafficDirection direction = policy::TrafficDirection::kIngress;
  std::string network;                 ///< empty: interface eth0
  std::vector<ReportedRule> admins;    ///< in the order in which they are asked, before all else
  std::vector<std::string> isolating;  ///< NetworkPolicies that isolate the pod
  std::vector<ReportedRule> rules;     ///< of these
  std::vector<ReportedRule> baseline;  ///< asked in the order, if nothing isolates the pod
  bool has_baseline = false;           ///< whether the cluster has baseline policies
};
/// Eth0 first, then each additional network on which a policy isolates the pod.
[[nodiscard]] std::vector<SideReport> SidesOf(const policy::PolicyVerdicts& verdicts,
                                              const AskedPod& pod);

/// Whether policies let a pod reach another one.
struct PairReport {
  policy::PolicyVerdict egress;   ///< of the pod that sends
  policy::PolicyVerdict ingress;  ///< of its peer

  [[nodiscard]] bool is_allowed() const { return egress.is_allowed() && ingress.is_allowed(); }
};
[[nodiscard]] PairReport PairOf(const policy::PolicyVerdicts& verdicts, const AskedPod& from,
                                const AskedPod& to, const AskedPort& port);

[[nodiscard]] std::string TextOf(const std::vector<ReportedError>& errors);
[[nodiscard]] std::string TextOf(const SideReport& side);
/// One end's part of a PairReport.
[[nodiscard]] std::string TextOf(const policy::PolicyVerdict& verdict,
                                 policy::TrafficDirection direction, const AskedPod& pod);

[[nodiscard]] nlohmann::json JsonOf(const std::vector<ReportedError>& errors);
[[nodiscard]] nlohmann::json JsonOf(const SideReport& side);
[[nodiscard]] nlohmann::json JsonOf(const policy::PolicyVerdict& verdict);

}  // namespace kuryr::controller
