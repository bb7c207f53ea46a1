#include "policy/policy_member.h"

namespace kuryr::policy {
namespace {

/// No UID has it.
constexpr char kSeparator = '@';

}  // namespace

PolicyMember MemberOf(const std::string& uid, const std::string& network) {
  return network.empty() ? uid : uid + kSeparator + network;
}

std::string PodOf(const PolicyMember& member) { return member.substr(0, member.find(kSeparator)); }

std::string NetworkNameOf(const PolicyMember& member) {
  const size_t separator = member.find(kSeparator);
  return separator == std::string::npos ? "" : member.substr(separator + 1);
}

std::set<std::string> SetsOf(const MemberSets& members, const std::string& uid,
                             const std::string& network) {
  std::set<std::string> sets;
  const auto add = [&](const std::string& on) {
    const auto member = members.find(MemberOf(uid, on));
    if (member != members.end()) sets.insert(member->second.begin(), member->second.end());
  };
  add(network);
  if (!network.empty()) add(kAnyNetwork);
  return sets;
}

}  // namespace kuryr::policy
