#include "controller/commands/policy_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using policy::PolicyRule;
using policy::PolicyVerdicts;
using policy::TrafficDirection;

constexpr size_t kMostRuleText = 1000;

std::string TextOf(const PolicyRule& rule) { return Printable(Readable(rule), kMostRuleText); }

const char* WordOf(TrafficDirection direction) {
  return direction == TrafficDirection::kIngress ? "ingress" : "egress";
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// The additional networks on which policies isolate the pod.
std::set<std::string> NetworksOf(const PolicyVerdicts& verdicts, const AskedPod& pod) {
  std::set<std::string> networks;
  for (const auto& [name, policy] : verdicts.policies()) {
    if (!policy.networks) continue;
    for (const std::string& network : *policy.networks) {
      if (verdicts.IsIn(pod.uid, policy.subject, network)) networks.insert(network);
    }
  }
  return networks;
}

bool Selects(const PolicyVerdicts& verdicts, const policy::CompiledPolicy& policy,
             const AskedPod& pod) {
  if (!policy.networks) return verdicts.IsIn(pod.uid, policy.subject);
  return std::any_of(
      policy.networks->begin(), policy.networks->end(),
      [&](const std::string& network) { return verdicts.IsIn(pod.uid, policy.subject, network); });
}

/// Adds the rules of one policy that are on this side of the pod.
void AddRules(const PolicyVerdicts& verdicts, const AskedPod& pod, const std::string& name,
              const SideReport& side, std::vector<ReportedRule>& rules) {
  for (const PolicyRule& rule : verdicts.policies().at(name).rules) {
    if (rule.direction == side.direction && verdicts.IsIn(pod.uid, rule.subject, side.network))
      rules.push_back({.policy = name, .action = rule.action, .text = TextOf(rule)});
  }
}

SideReport SideOf(const PolicyVerdicts& verdicts, const AskedPod& pod, SideReport side) {
  for (const auto& [name, policy] : verdicts.policies()) {
    if (!policy::Isolates(policy, side.direction) ||
        !verdicts.IsIn(pod.uid, policy.subject, side.network))
      continue;
    side.isolating.push_back(name);
    AddRules(verdicts, pod, name, side, side.rules);
  }
  if (!side.network.empty()) return side;
  for (const std::string& name : verdicts.OrderOf(policy::PolicyTier::kAdmin))
    AddRules(verdicts, pod, name, side, side.admins);
  const std::vector<std::string> baseline = verdicts.OrderOf(policy::PolicyTier::kBaseline);
  side.has_baseline = !baseline.empty();
  for (const std::string& name : baseline) AddRules(verdicts, pod, name, side, side.baseline);
  return side;
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

std::string TextOfAdmins(const SideReport& side, const std::vector<ReportedRule>& rules) {
  std::string text;
  for (const ReportedRule& rule : rules) {
    text += std::string(WordOf(side.direction)) + ": " + rule.policy + " " +
            policy::VerbOf(rule.action) + " " + rule.text + "\n";
  }
  return text;
}

json JsonOf(const std::vector<ReportedRule>& rules) {
  json list = json::array();
  for (const ReportedRule& rule : rules)
    list.push_back(
        {{"policy", rule.policy}, {"verb", policy::VerbOf(rule.action)}, {"what", rule.text}});
  return list;
}

}  // namespace

std::vector<ReportedError> ErrorsOf(const PolicyVerdicts& verdicts, const AskedPod& pod) {
  std::vector<ReportedError> errors;
  for (const auto& [name, why] : verdicts.errors()) {
    if (Selects(verdicts, verdicts.policies().at(name), pod))
      errors.push_back({.policy = name, .why = Printable(why, kMostRuleText)});
  }
  return errors;
}

std::vector<SideReport> SidesOf(const PolicyVerdicts& verdicts, const AskedPod& pod) {
  constexpr TrafficDirection kBoth[] = {TrafficDirection::kIngress, TrafficDirection::kEgress};
  std::vector<SideReport> sides;
  const auto add = [&](TrafficDirection direction, const std::string& network) {
    SideReport side = SideOf(verdicts, pod, {.direction = direction, .network = network});
    if (network.empty() || !side.isolating.empty()) sides.push_back(std::move(side));
  };
  for (const TrafficDirection direction : kBoth) add(direction, "");
  for (const std::string& network : NetworksOf(verdicts, pod)) {
    for (const TrafficDirection direction : kBoth) add(direction, network);
  }
  return sides;
}

PairReport PairOf(const PolicyVerdicts& verdicts, const AskedPod& from, const AskedPod& to,
                  const AskedPort& port) {
  policy::Traffic traffic{.from = {.uid = from.uid, .address = std::nullopt},
                          .to = {.uid = to.uid, .address = std::nullopt},
                          .protocol = port.protocol,
                          .port = port.number};
  SetAddresses(from, to, traffic);
  return {.egress = verdicts.OnSending(traffic), .ingress = verdicts.OnReceiving(traffic)};
}

std::string TextOf(const std::vector<ReportedError>& errors) {
  std::string text;
  for (const ReportedError& error : errors)
    text += error.policy + " is not understood, and allows less than it says: " + error.why + "\n";
  return text;
}

std::string TextOf(const SideReport& side) {
  std::string where = WordOf(side.direction);
  if (side.network == policy::kAnyNetwork) {
    where += " on every additional network";
  } else if (!side.network.empty()) {
    where += " on network " + side.network;
  }
  std::string text = TextOfAdmins(side, side.admins);
  if (side.isolating.empty()) {
    return text + TextOfAdmins(side, side.baseline) + where +
           ": no policy isolates the pod, so all " + (side.has_baseline ? "else " : "") +
           "is allowed\n";
  }
  text += where + ": isolated by " + Listed(side.isolating) + "\n";
  for (const std::string& name : side.isolating) {
    const size_t before = text.size();
    for (const ReportedRule& rule : side.rules) {
      if (rule.policy == name) text += "  " + name + " allows " + rule.text + "\n";
    }
    if (text.size() == before) text += "  " + name + " allows nothing\n";
  }
  return text;
}

std::string TextOf(const policy::PolicyVerdict& verdict, TrafficDirection direction,
                   const AskedPod& pod) {
  std::string text = std::string(WordOf(direction)) + " of " + pod.name + ": ";
  if (!verdict.passing.empty()) text += "passed on by " + verdict.passing + ", ";
  if (verdict.rule) {
    return text + (verdict.is_allowed() ? "allowed" : "denied") + " by " + verdict.policy + ": " +
           TextOf(*verdict.rule) + "\n";
  }
  if (verdict.isolating.empty()) return text + "allowed, as no policy isolates it\n";
  return text + "dropped, as no rule allows it of " + Listed(verdict.isolating) + "\n";
}

json JsonOf(const std::vector<ReportedError>& errors) {
  json list = json::array();
  for (const ReportedError& error : errors)
    list.push_back({{"policy", error.policy}, {"why", error.why}});
  return list;
}

json JsonOf(const SideReport& side) {
  json object = {{"direction", WordOf(side.direction)},
                 {"admin_rules", JsonOf(side.admins)},
                 {"isolated_by", side.isolating},
                 {"rules", JsonOf(side.rules)}};
  if (!side.network.empty()) object["network"] = side.network;
  if (side.isolating.empty()) object["baseline_rules"] = JsonOf(side.baseline);
  return object;
}

json JsonOf(const policy::PolicyVerdict& verdict) {
  json object = {{"allowed", verdict.is_allowed()}, {"isolated_by", verdict.isolating}};
  if (!verdict.passing.empty()) object["passed_on_by"] = verdict.passing;
  if (verdict.rule) {
    object["policy"] = verdict.policy;
    object["rule"] = TextOf(*verdict.rule);
  }
  return object;
}

}  // namespace kuryr::controller
