#include "tests/controller/backends/ovn/acl_judge.h"

#include <algorithm>
#include <stdexcept>

namespace kuryr::controller::ovn {
namespace {

std::vector<std::string> PartsOf(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end = 0; end != std::string::npos; start = end + separator.size()) {
    end = text.find(separator, start);
    parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  return parts;
}

bool HasNumber(const std::string& item, uint64_t number) {
  const size_t slash = item.find('/');
  const uint64_t mask =
      slash == std::string::npos ? UINT16_MAX : std::stoul(item.substr(slash + 1));
  return (number & mask) == (std::stoul(item) & mask);
}

}  // namespace

void AclJudge::Apply(const PolicyRows::Changes& changes) {
  for (const RowKey& key : changes.dropped) rows_.erase(key);
  for (const WantedRow& row : changes.wanted) rows_.insert_or_assign(row.key, row);
}

std::set<std::string> AclJudge::GroupsOf(const std::string& uid) const {
  std::set<std::string> groups;
  const auto sets = sets_.find(uid);
  if (sets == sets_.end()) return groups;
  for (const policy::PodSet& set : sets->second) {
    const auto group = rows_.find({"Port_Group", set});
    if (group != rows_.end()) groups.insert(group->second.values.at("name"));
  }
  return groups;
}

bool AclJudge::MaySend(const policy::Traffic& traffic) const {
  return Judge("from-lport",
               {.traffic = traffic, .port = "inport", .in = GroupsOf(traffic.from.uid)});
}

bool AclJudge::MayReceive(const policy::Traffic& traffic) const {
  return Judge("to-lport", {.traffic = traffic, .port = "outport", .in = GroupsOf(traffic.to.uid)});
}

/// Two ACLs of one priority that match have to say the same.
bool AclJudge::Judge(const char* direction, const Packet& packet) const {
  int best = -1;
  std::set<std::string> actions;
  for (const auto& [key, row] : rows_) {
    if (key.table != "ACL" || row.values.at("direction") != direction) continue;
    const int priority = row.values.at("priority");
    if (priority < best || !Matches(row.values.at("match"), packet)) continue;
    if (priority > best) actions.clear();
    best = priority;
    actions.insert(row.values.at("action"));
  }
  if (actions.size() > 1) throw std::runtime_error("ACLs of one priority differ");
  return actions.empty() || *actions.begin() == "allow-related";
}

bool AclJudge::Matches(const std::string& match, const Packet& packet) const {
  const std::vector<std::string> terms = PartsOf(match, " && ");
  return std::all_of(terms.begin(), terms.end(),
                     [&](const std::string& term) { return IsTrue(term, packet); });
}

bool AclJudge::Has(const std::string& item, const IpAddress& address) const {
  if (!item.starts_with('$')) return IpNetwork::Parse(item).value().Contains(address);
  const std::string group = item.substr(1, item.size() - std::string("_ip4").size() - 1);
  return std::any_of(addresses_.begin(), addresses_.end(), [&](const auto& pod) {
    return pod.second == address.ToString() && GroupsOf(pod.first).contains(group);
  });
}

bool AclJudge::IsTrue(const std::string& term, const Packet& packet) const {
  const policy::Traffic& traffic = packet.traffic;
  if (term == "ip" || term == "ip4" || term == traffic.protocol) return true;
  const size_t equals = term.find(" == ");
  if (equals == std::string::npos) return false;
  const std::string field = term.substr(0, equals);
  std::string value = term.substr(equals + 4);
  if (value.starts_with('@')) return field == packet.port && packet.in.contains(value.substr(1));
  value = value.substr(1, value.size() - 2);
  const std::vector<std::string> items = PartsOf(value, ", ");
  return std::any_of(items.begin(), items.end(), [&](const std::string& item) {
    if (field == "ip4.src") return Has(item, traffic.from.address.value());
    if (field == "ip4.dst") return Has(item, traffic.to.address.value());
    return field == traffic.protocol + ".dst" && HasNumber(item, traffic.port);
  });
}

}  // namespace kuryr::controller::ovn
