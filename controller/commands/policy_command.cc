#include "controller/commands/policy_command.h"

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
#include "controller/commands/policy_report.h"
#include "controller/commands/survey.h"
#include "controller/owners/pod_facts.h"
#include "policy/policy_compiler.h"
#include "policy/policy_pod.h"
#include "policy/policy_verdicts.h"
#include "service/table.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using watcher::WatchEvent;

constexpr size_t kMostGapText = 1000;

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
  /// Why objects could not be read.
  [[nodiscard]] const std::vector<std::string>& gaps() const noexcept { return gaps_; }
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
                              gaps_.push_back(Printable(problem, kMostGapText));
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
    } catch (const ParseError& e) {
      gaps_.push_back(KeyOf(event.name_space, event.name) + ": " +
                      Printable(e.what(), kMostGapText));
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
  std::vector<std::string> gaps_;
};

/// What the command has found out, as text or as JSON.
class Answer {
 public:
  explicit Answer(bool as_json) : as_json_(as_json) {}

  void Set(const char* key, json value) { object_[key] = std::move(value); }
  void Say(const std::string& line) {
    if (!as_json_) std::fputs(line.c_str(), stdout);
  }
  /// Returns `status`.
  [[nodiscard]] int Print(int status) const {
    if (as_json_) service::PrintJson(object_);
    return status;
  }

 private:
  const bool as_json_;
  json object_ = json::object();
};

int PrintSelection(const policy::PolicyVerdicts& verdicts, const AskedPod& pod, Answer& answer) {
  answer.Set("pod", pod.name);
  answer.Set("selectable", !pod.uid.empty());
  if (pod.uid.empty()) {
    answer.Say(pod.name + " is in its node's network, or has ended: no policy selects it\n");
    return 0;
  }
  json sides = json::array();
  for (const SideReport& side : SidesOf(verdicts, pod)) {
    answer.Say(TextOf(side));
    sides.push_back(JsonOf(side));
  }
  const std::vector<ReportedError> errors = ErrorsOf(verdicts, pod);
  answer.Say(TextOf(errors));
  answer.Set("sides", sides);
  answer.Set("not_understood", JsonOf(errors));
  return errors.empty() ? 0 : service::kUnwell;
}

int PrintPair(const policy::PolicyVerdicts& verdicts, const AskedPod& from, const AskedPod& to,
              const AskedPort& port, Answer& answer) {
  answer.Set("from", from.name);
  answer.Set("to", to.name);
  if (from.name == to.name) {
    answer.Set("allowed", true);
    answer.Say("allowed: a pod always reaches itself\n");
    return 0;
  }
  const PairReport pair = PairOf(verdicts, from, to, port);
  std::vector<ReportedError> errors = ErrorsOf(verdicts, from);
  const std::vector<ReportedError> more = ErrorsOf(verdicts, to);
  errors.insert(errors.end(), more.begin(), more.end());
  answer.Say(TextOf(pair.egress, policy::TrafficDirection::kEgress, from) +
             TextOf(pair.ingress, policy::TrafficDirection::kIngress, to) + TextOf(errors) +
             (pair.is_allowed() ? "allowed\n" : "dropped\n"));
  answer.Set("allowed", pair.is_allowed());
  answer.Set("egress", JsonOf(pair.egress));
  answer.Set("ingress", JsonOf(pair.ingress));
  answer.Set("not_understood", JsonOf(errors));
  return pair.is_allowed() ? 0 : service::kUnwell;
}

/// Nodes enforce policies on pods of routed pools alone.
void SetNotEnforced(Survey& survey, const std::set<std::string>& names, Answer& answer) {
  const PolicyEnforcer* enforcer = survey.backend().facets().policies;
  json list = json::array();
  for (const std::string& name : names) {
    if (enforcer == nullptr || name.empty()) continue;
    const auto pod = survey.FindPod(PodKey(name));
    const auto why = pod ? enforcer->WhyNoneHolds(pod->event.uid) : std::nullopt;
    if (!why) continue;
    answer.Say(name + ": " + *why + "\n");
    list.push_back({{"pod", name}, {"why", *why}});
  }
  answer.Set("not_enforced", list);
}

}  // namespace

service::CommandLine AddPolicyCommand(service::CommandLine& line, PolicyQuestion& question) {
  service::CommandLine policy = line.AddCommand(
      "policy", "Show which policies select a pod, and whether they let it reach another one");
  policy.Add("POD", question.pod, "NAMESPACE/NAME").Require().AllowPod();
  policy.Add("PEER", question.peer, "NAMESPACE/NAME: the pod that it would reach").AllowPod();
  policy.Add("PORT", question.port, "The peer's port: tcp/80, udp/53 or sctp/9");
  policy.AddOutput(question.as_json);
  return policy;
}

int PrintPolicies(const Config& config, const PolicyQuestion& question) {
  std::optional<AskedPort> port;
  if (!question.peer.empty()) {
    if (question.port.empty())
      throw std::runtime_error("a port is missing behind " + question.peer +
                               "; expected tcp/80, udp/53 or sctp/9");
    port = PortOf(question.port);
  }
  Survey survey(config);
  const BackendNeeds needs = config.backend->needs();
  const Listing listing(survey, {question.pod, question.peer},
                        needs.admin_policies || needs.node_policies);
  Answer answer(question.as_json);
  answer.Set("unreadable", listing.gaps());
  for (const std::string& gap : listing.gaps())
    answer.Say("an object cannot be read: " + gap + "\n");
  const AskedPod& pod = listing.Find(question.pod);
  const bool has_enforcer = survey.backend().facets().policies != nullptr || needs.node_policies;
  answer.Set("enforced", has_enforcer);
  if (!has_enforcer)
    answer.Say(std::string("backend ") + config.backend->name() + " enforces no NetworkPolicy\n");
  // Elsewhere policies hold for all pods, or for none.
  std::set<std::string> doubtful;
  if (needs.node_policies) doubtful = {question.pod, question.peer};
  SetNotEnforced(survey, doubtful, answer);
  const int status =
      port ? PrintPair(listing.verdicts(), pod, listing.Find(question.peer), *port, answer)
           : PrintSelection(listing.verdicts(), pod, answer);
  return answer.Print(listing.gaps().empty() ? status : service::kUnwell);
}

}  // namespace kuryr::controller
