#include "cni/agent/policy/policy_answer.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"

namespace kuryr::cni {
namespace {

using policy::PolicyRule;
using policy::PolicyTier;
using policy::PolicyVerdicts;
using policy::TrafficDirection;

constexpr size_t kMostText = 1000;
constexpr size_t kMostAddresses = 10;

/// The policies of one direction, in the order in which the kernel asks them.
class Direction {
 public:
  Direction(const PolicyVerdicts& policies, std::string uid, TrafficDirection direction)
      : policies_(policies), uid_(std::move(uid)), direction_(direction) {}

  [[nodiscard]] std::string Lines() const {
    std::string lines = LinesOf(policies_.OrderOf(PolicyTier::kAdmin));
    std::vector<std::string> allowing;
    std::string isolating;
    for (const auto& [name, policy] : policies_.policies()) {
      if (policy.tier != PolicyTier::kNetwork || policy.networks) continue;
      allowing.push_back(name);
      if (!Isolates(policy, direction_) || !policies_.IsIn(uid_, policy.subject)) continue;
      isolating += (isolating.empty() ? "" : ", ") + name;
    }
    if (isolating.empty()) return lines + LinesOf(policies_.OrderOf(PolicyTier::kBaseline));
    return lines + LinesOf(allowing) + "  all else is dropped: isolated by " + isolating + "\n";
  }

 private:
  [[nodiscard]] std::string LinesOf(const std::vector<std::string>& names) const {
    std::string lines;
    for (const std::string& name : names) {
      for (const PolicyRule& rule : policies_.policies().at(name).rules) {
        if (rule.direction != direction_ || !policies_.IsIn(uid_, rule.subject)) continue;
        lines += "  " + name + " " + VerbOf(rule.action) + " " +
                 Printable(Readable(rule), kMostText) + "\n";
      }
    }
    return lines;
  }

  const PolicyVerdicts& policies_;
  const std::string uid_;
  const TrafficDirection direction_;
};

template <typename Addresses>
std::string Listed(const Addresses& addresses) {
  std::string text;
  size_t count = 0;
  for (const IpAddress& address : addresses) {
    if (++count > kMostAddresses) break;
    text += (count == 1 ? "" : ", ") + address.ToString();
  }
  return count <= kMostAddresses
             ? text
             : text + " and " + std::to_string(addresses.size() - kMostAddresses) + " more";
}

std::string HeadOf(const char* direction, const std::map<IpAddress, std::string>& chains) {
  return std::string(direction) + ": " +
         (chains.empty() ? "no chain, so all is allowed" : "chain " + chains.begin()->second) +
         "\n";
}

}  // namespace

std::string DescribePolicies(const PolicyVerdicts& policies, const SetAddresses& sets,
                             const LocalPods::value_type& pod) {
  const auto& [uid, addresses] = pod;
  const binding::Filter filter = FilterMaker().Make(policies, {pod});
  std::string text = "addresses: " + Listed(addresses) + "\n" +
                     HeadOf("ingress", filter.receivers) +
                     Direction(policies, uid, TrafficDirection::kIngress).Lines() +
                     HeadOf("egress", filter.senders) +
                     Direction(policies, uid, TrafficDirection::kEgress).Lines();
  for (const std::string& set : binding::SetsOf(filter)) {
    text += "set " + binding::NameOfSet(set) + ", " + Printable(set, kMostText) + ": ";
    const auto members = sets.Of(set);
    text += (members.empty() ? "no address" : Listed(members)) + "\n";
  }
  return text;
}

}  // namespace kuryr::cni
