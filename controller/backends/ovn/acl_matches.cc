#include "controller/backends/ovn/acl_matches.h"

#include <array>
#include <cstdint>
#include <map>

namespace kuryr::controller::ovn {
namespace {

struct Version {
  IpFamily family;
  const char* name;
};
constexpr std::array kVersions = {Version{IpFamily::kIpv4, "ip4"}, Version{IpFamily::kIpv6, "ip6"}};

void AppendItem(std::string& list, const std::string& item) {
  if (!list.empty()) list += ", ";
  list += item;
}

/// The rule's peers of one version: "ip4.src == {...}" for its networks, and for each set of pods.
/// ovn-controller aborts, up to 25.03.0, where pods go from one set of a list to another one of it.
std::vector<std::string> PeersOf(
    const policy::PolicyRule& rule, const Version& version,
    const std::function<std::string(const policy::PodSet&)>& group_of) {
  std::string networks;
  for (const IpNetwork& network : rule.networks) {
    if (network.address.family != version.family) continue;
    if (network.prefix_length == 0) return {version.name};
    AppendItem(networks, network.ToString());
  }
  std::vector<std::string> lists;
  lists.reserve(rule.peers.size() + 1);
  if (!networks.empty()) lists.push_back(std::move(networks));
  for (const policy::PodSet& set : rule.peers)
    lists.push_back(std::string("$").append(group_of(set)).append("_").append(version.name));
  const char* field =
      rule.direction == policy::TrafficDirection::kIngress ? ".src == {" : ".dst == {";
  for (std::string& list : lists)
    list = std::string(version.name).append(field).append(list).append("}");
  return lists;
}

std::vector<std::string> PeerMatches(
    const policy::PolicyRule& rule,
    const std::function<std::string(const policy::PodSet&)>& group_of) {
  if (rule.any_peer) return {"ip"};
  std::vector<std::string> matches;
  matches.reserve(kVersions.size() * (rule.peers.size() + 1));
  for (const Version& version : kVersions) {
    for (std::string& peers : PeersOf(rule, version, group_of)) matches.push_back(std::move(peers));
  }
  return matches;
}

/// Appends the numbers of a range as values with masks: "80", "1024/64512".
void AppendRange(std::string& list, const policy::PortRange& range) {
  for (uint32_t first = range.first; first <= range.last;) {
    uint32_t size = 1;
    while (first % (2 * size) == 0 && first + 2 * size - 1 <= range.last && size <= UINT16_MAX)
      size *= 2;
    std::string item = std::to_string(first);
    if (size > 1) item.append("/").append(std::to_string(UINT16_MAX + 1 - size));
    AppendItem(list, item);
    first += size;
  }
}

/// " && tcp.dst == {...}" for each protocol; for all ports one that is empty.
std::vector<std::string> PortMatches(const policy::PolicyRule& rule) {
  if (rule.any_port) return {""};
  std::map<std::string, std::string> lists;
  std::map<std::string, bool> has_all;
  for (const policy::PortRange& range : rule.ports) {
    has_all[range.protocol] |= range.first == 0 && range.last == UINT16_MAX;
    AppendRange(lists[range.protocol], range);
  }
  std::vector<std::string> matches;
  matches.reserve(lists.size());
  for (const auto& [protocol, list] : lists) {
    std::string match = " && " + protocol;
    if (!has_all[protocol]) match.append(".dst == {").append(list).append("}");
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace

std::vector<std::string> AclMatches(
    const policy::PolicyRule& rule,
    const std::function<std::string(const policy::PodSet&)>& group_of) {
  const std::vector<std::string> ports = PortMatches(rule);
  std::vector<std::string> matches;
  for (const std::string& peers : PeerMatches(rule, group_of)) {
    for (const std::string& port : ports) matches.push_back(peers + port);
  }
  return matches;
}

}  // namespace kuryr::controller::ovn
