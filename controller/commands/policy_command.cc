#include "controller/commands/policy_command.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ip.h"
#include "base/json.h"
#include "controller/backends/backend_factory.h"
#include "controller/cluster/network_attachments.h"
#include "controller/commands/asked_port.h"
#include "controller/commands/pod_key.h"
#include "controller/commands/survey.h"
#include "controller/owners/pod_facts.h"
#include "policy/policy_compiler.h"
#include "policy/policy_pod.h"
#include "policy/policy_verdicts.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using watcher::WatchEvent;

constexpr size_t kMostRuleText = 1000;

/// A pod that the command is asked for.
struct AskedPod {
  std::string name;  ///< NAMESPACE/NAME
  std::string uid;   ///< empty: no policy selects it
  std::vector<IpAddress> addresses;
};

AskedPod AskedPodOf(const WatchEvent& event) {
  AskedPod pod{.name = KeyOf(event.name_space, event.name)};
  if (policy::PolicyPodOf(*event.object)) pod.uid = event.uid;
  const json status = event.object->value("status", json::object());
  const json all = status.is_object() ? status.value("podIPs", json::array()) : json::array();
  for (const json& one : all) {
    if (const auto address = IpAddress::Parse(StringAt(one, "ip")))
      pod.addresses.push_back(*address);
  }
  return pod;
}

/// The cluster's policies, and the pods that are asked for, listed once.
class Listing {
 public:
  /// With `has_admins`, also the policies of admins.
  Listing(Survey& survey, std::set<std::string> names, bool has_admins) : names_(std::move(names)) {
    // Pods come first: then the namespace of each is listed after it.
    List(survey, "/api/v1/pods", [&](const WatchEvent& event) { AddPod(event); });
    List(survey, "/api/v1/namespaces", [&](const WatchEvent& event) {
      verdicts_.Apply(compiler_.SetNamespace(event.name, policy::LabelsOf(*event.object)));
    });
    List(survey, "/apis/networking.k8s.io/v1/networkpolicies", [&](const WatchEvent& event) {
      verdicts_.Apply(compiler_.SetPolicy(event.name_space, event.name, *event.object));
    });
    ListIfAny(survey, "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions",
              [&](const WatchEvent& event) { AddDefinition(event); });
    ListIfAny(
        survey, "/apis/k8s.cni.cncf.io/v1beta1/multi-networkpolicies",
        [&](const WatchEvent& event) {
          verdicts_.Apply(compiler_.SetMultiPolicy(event.name_space, event.name, *event.object));
        });
    if (!has_admins) return;
    for (const policy::AdminKind& kind : policy::kAdminKinds) ListAdmins(survey, kind);
    if (!compiler_.names_nodes()) return;
    List(survey, "/api/v1/nodes", [&](const WatchEvent& event) {
      verdicts_.Apply(compiler_.SetNode(event.name, policy::PolicyNodeOf(*event.object)));
    });
  }

  [[nodiscard]] const policy::PolicyVerdicts& verdicts() const noexcept { return verdicts_; }
  /// Whether an object could not be read, as stdout says.
  [[nodiscard]] bool has_gap() const noexcept { return has_gap_; }
  [[nodiscard]] const AskedPod& Find(const std::string& name) const {
    const auto pod = pods_.find(name);
    if (pod == pods_.end()) throw std::runtime_error("there is no pod " + name);
    return pod->second;
  }

 private:
  void List(Survey& survey, const std::string& path,
            const std::function<void(const WatchEvent& event)>& take) {
    watcher::ForEachListed(survey.client(), path,
                           {.item = take, .bad_item = [this](const std::string& problem) {
                              has_gap_ = true;
                              std::printf("an object cannot be read: %s\n",
                                          Printable(problem, kMostRuleText).c_str());
                            }});
  }

  /// As List; none where the cluster lacks the kind.
  void ListIfAny(Survey& survey, const std::string& path,
                 const std::function<void(const WatchEvent& event)>& take) {
    try {
      List(survey, path, take);
    } catch (const watcher::ApiError& e) {
      if (e.code() != watcher::ApiError::kNotFound) throw;
    }
  }

  void ListAdmins(Survey& survey, const policy::AdminKind& kind) {
    ListIfAny(survey, kind.path(), [&](const WatchEvent& event) {
      verdicts_.Apply(compiler_.SetAdminPolicy(kind, event.name, *event.object));
    });
  }

  void AddDefinition(const WatchEvent& event) {
    std::optional<std::string> network;
    try {
      network = NetworkNamedBy(*event.object);
    } catch (const ParseError&) {
      has_gap_ = true;
    }
    verdicts_.Apply(compiler_.SetDefinition(KeyOf(event.name_space, event.name), network));
  }

  void AddPod(const WatchEvent& event) {
    const std::string name = KeyOf(event.name_space, event.name);
    if (names_.contains(name)) pods_.insert_or_assign(name, AskedPodOf(event));
    if (auto pod = policy::PolicyPodOf(*event.object))
      verdicts_.Apply(compiler_.SetPod(std::move(*pod)));
  }

  const std::set<std::string> names_;
  policy::PolicyCompiler compiler_;
  policy::PolicyVerdicts verdicts_;
  std::map<std::string, AskedPod> pods_;
  bool has_gap_ = false;
};

const char* WordOf(policy::TrafficDirection direction) {
  return direction == policy::TrafficDirection::kIngress ? "ingress" : "egress";
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// The additional networks on which policies isolate the pod.
std::set<std::string> NetworksOf(const policy::PolicyVerdicts& verdicts, const AskedPod& pod) {
  std::set<std::string> networks;
  for (const auto& [name, policy] : verdicts.policies()) {
    if (!policy.networks) continue;
    for (const std::string& network : *policy.networks) {
      if (verdicts.IsIn(pod.uid, policy.subject, network)) networks.insert(network);
    }
  }
  return networks;
}

bool Selects(const policy::PolicyVerdicts& verdicts, const policy::CompiledPolicy& policy,
             const AskedPod& pod) {
  if (!policy.networks) return verdicts.IsIn(pod.uid, policy.subject);
  return std::any_of(
      policy.networks->begin(), policy.networks->end(),
      [&](const std::string& network) { return verdicts.IsIn(pod.uid, policy.subject, network); });
}

/// Policies that select the pod, of those that are not understood. Returns whether there are any.
bool PrintErrors(const policy::PolicyVerdicts& verdicts, const AskedPod& pod) {
  bool has_any = false;
  for (const auto& [name, error] : verdicts.errors()) {
    if (!Selects(verdicts, verdicts.policies().at(name), pod)) continue;
    has_any = true;
    std::printf("%s is not understood, and allows less than it says: %s\n", name.c_str(),
                Printable(error, kMostRuleText).c_str());
  }
  return has_any;
}

/// The rules of admins on the pod, in the order in which they are asked.
void PrintAdmins(const policy::PolicyVerdicts& verdicts, const AskedPod& pod,
                 policy::PolicyTier tier, policy::TrafficDirection direction) {
  for (const std::string& name : verdicts.OrderOf(tier)) {
    for (const policy::PolicyRule& rule : verdicts.policies().at(name).rules) {
      if (rule.direction != direction || !verdicts.IsIn(pod.uid, rule.subject)) continue;
      std::printf("%s: %s %s %s\n", WordOf(direction), name.c_str(), policy::VerbOf(rule.action),
                  Printable(Readable(rule), kMostRuleText).c_str());
    }
  }
}

/// A question on a pod's interfaces.
struct Side {
  policy::TrafficDirection direction = policy::TrafficDirection::kIngress;
  std::string network;  ///< empty: interface eth0
};

std::vector<std::string> IsolatingOn(const policy::PolicyVerdicts& verdicts, const AskedPod& pod,
                                     const Side& side) {
  std::vector<std::string> isolating;
  for (const auto& [name, policy] : verdicts.policies()) {
    if (policy::Isolates(policy, side.direction) &&
        verdicts.IsIn(pod.uid, policy.subject, side.network))
      isolating.push_back(name);
  }
  return isolating;
}

void PrintRules(const policy::PolicyVerdicts& verdicts, const AskedPod& pod,
                const std::string& name, const Side& side) {
  bool allows = false;
  for (const policy::PolicyRule& rule : verdicts.policies().at(name).rules) {
    if (rule.direction != side.direction || !verdicts.IsIn(pod.uid, rule.subject, side.network))
      continue;
    allows = true;
    std::printf("  %s allows %s\n", name.c_str(), Printable(Readable(rule), kMostRuleText).c_str());
  }
  if (!allows) std::printf("  %s allows nothing\n", name.c_str());
}

void PrintDirection(const policy::PolicyVerdicts& verdicts, const AskedPod& pod,
                    policy::TrafficDirection direction) {
  PrintAdmins(verdicts, pod, policy::PolicyTier::kAdmin, direction);
  const Side side = {.direction = direction};
  const std::vector<std::string> isolating = IsolatingOn(verdicts, pod, side);
  if (isolating.empty()) {
    PrintAdmins(verdicts, pod, policy::PolicyTier::kBaseline, direction);
    std::printf("%s: no policy isolates the pod, so all %sis allowed\n", WordOf(direction),
                verdicts.OrderOf(policy::PolicyTier::kBaseline).empty() ? "" : "else ");
    return;
  }
  std::printf("%s: isolated by %s\n", WordOf(direction), Listed(isolating).c_str());
  for (const std::string& name : isolating) PrintRules(verdicts, pod, name, side);
}

void PrintNetwork(const policy::PolicyVerdicts& verdicts, const AskedPod& pod, const Side& side) {
  const std::vector<std::string> isolating = IsolatingOn(verdicts, pod, side);
  if (isolating.empty()) return;
  const std::string where =
      side.network == policy::kAnyNetwork ? "every additional network" : "network " + side.network;
  std::printf("%s on %s: isolated by %s\n", WordOf(side.direction), where.c_str(),
              Listed(isolating).c_str());
  for (const std::string& name : isolating) PrintRules(verdicts, pod, name, side);
}

int PrintSelection(const policy::PolicyVerdicts& verdicts, const AskedPod& pod) {
  if (pod.uid.empty()) {
    std::printf("%s is in its node's network, or has ended: no policy selects it\n",
                pod.name.c_str());
    return 0;
  }
  PrintDirection(verdicts, pod, policy::TrafficDirection::kIngress);
  PrintDirection(verdicts, pod, policy::TrafficDirection::kEgress);
  for (const std::string& network : NetworksOf(verdicts, pod)) {
    for (const auto direction :
         {policy::TrafficDirection::kIngress, policy::TrafficDirection::kEgress})
      PrintNetwork(verdicts, pod, {.direction = direction, .network = network});
  }
  return PrintErrors(verdicts, pod) ? 1 : 0;
}

void PrintVerdict(const policy::PolicyVerdict& verdict, policy::TrafficDirection direction,
                  const AskedPod& pod) {
  std::printf("%s of %s: ", WordOf(direction), pod.name.c_str());
  if (!verdict.passing.empty()) std::printf("passed on by %s, ", verdict.passing.c_str());
  if (verdict.rule) {
    std::printf("%s by %s: %s\n", verdict.is_allowed() ? "allowed" : "denied",
                verdict.policy.c_str(), Printable(Readable(*verdict.rule), kMostRuleText).c_str());
  } else if (verdict.isolating.empty()) {
    std::printf("allowed, as no policy isolates it\n");
  } else {
    std::printf("dropped, as no rule allows it of %s\n", Listed(verdict.isolating).c_str());
  }
}

/// The addresses that a connection would have: both of one family.
void SetAddresses(const AskedPod& from, const AskedPod& to, policy::Traffic& traffic) {
  for (const IpAddress& source : from.addresses) {
    const auto target =
        std::find_if(to.addresses.begin(), to.addresses.end(),
                     [&](const IpAddress& address) { return address.family == source.family; });
    if (target == to.addresses.end()) continue;
    traffic.from.address = source;
    traffic.to.address = *target;
    return;
  }
}

int PrintPair(const policy::PolicyVerdicts& verdicts, const AskedPod& from, const AskedPod& to,
              const AskedPort& port) {
  if (from.name == to.name) {
    std::printf("allowed: a pod always reaches itself\n");
    return 0;
  }
  policy::Traffic traffic{.from = {.uid = from.uid, .address = std::nullopt},
                          .to = {.uid = to.uid, .address = std::nullopt},
                          .protocol = port.protocol,
                          .port = port.number};
  SetAddresses(from, to, traffic);
  const policy::PolicyVerdict out = verdicts.OnSending(traffic);
  const policy::PolicyVerdict in = verdicts.OnReceiving(traffic);
  PrintVerdict(out, policy::TrafficDirection::kEgress, from);
  PrintVerdict(in, policy::TrafficDirection::kIngress, to);
  PrintErrors(verdicts, from);
  PrintErrors(verdicts, to);
  const bool is_allowed = out.is_allowed() && in.is_allowed();
  std::printf("%s\n", is_allowed ? "allowed" : "dropped");
  return is_allowed ? 0 : 1;
}

/// Policies may hold for some pods of a backend alone.
void PrintNotEnforced(Survey& survey, const std::string& name) {
  const PolicyEnforcer* enforcer = survey.backend().facets().policies;
  const auto pod = enforcer == nullptr ? std::nullopt : survey.FindPod(PodKey(name));
  const auto why = pod ? enforcer->WhyNoneHolds(pod->event.uid) : std::nullopt;
  if (why) std::printf("%s: %s\n", name.c_str(), why->c_str());
}

}  // namespace

service::CommandLine AddPolicyCommand(service::CommandLine& line, PolicyQuestion& question) {
  service::CommandLine policy = line.AddCommand(
      "policy", "Show which policies select a pod, and whether they let it reach another one");
  policy.Add("POD", question.pod, "NAMESPACE/NAME").Require();
  policy.Add("PEER", question.peer, "NAMESPACE/NAME: the pod that it would reach");
  policy.Add("PORT", question.port, "the peer's port: tcp/80, udp/53 or sctp/9");
  return policy;
}

int PrintPolicies(const Config& config, const PolicyQuestion& question) {
  (void)PodKey(question.pod);
  std::optional<AskedPort> port;
  if (!question.peer.empty()) {
    (void)PodKey(question.peer);
    if (question.port.empty())
      throw std::runtime_error("a port is missing behind " + question.peer +
                               "; expected tcp/80, udp/53 or sctp/9");
    port = PortOf(question.port);
  }
  Survey survey(config);
  const BackendNeeds needs = config.backend->needs();
  const Listing listing(survey, {question.pod, question.peer},
                        needs.admin_policies || needs.node_policies);
  const AskedPod& pod = listing.Find(question.pod);
  if (survey.backend().facets().policies == nullptr && !needs.node_policies)
    std::printf("backend %s enforces no NetworkPolicy\n", config.backend->name());
  PrintNotEnforced(survey, question.pod);
  if (!question.peer.empty()) PrintNotEnforced(survey, question.peer);
  const int status = port ? PrintPair(listing.verdicts(), pod, listing.Find(question.peer), *port)
                          : PrintSelection(listing.verdicts(), pod);
  return listing.has_gap() ? 1 : status;
}

}  // namespace kuryr::controller
