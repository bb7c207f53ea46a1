#include "controller/backends/ovn/southbound/chassis_roster.h"

#include <algorithm>

#include "base/error.h"
#include "controller/backends/ovn/southbound/schema.h"

namespace kuryr::controller::ovn {
namespace {

std::string Quoted(const std::string& name) { return "\"" + Printable(name) + "\""; }

std::string NameOf(const std::string& hostname) { return hostname.substr(0, hostname.find('.')); }

}  // namespace

bool IsStale(const ChassisMark& mark, const std::optional<std::string>& machine) {
  return !machine || (!mark.machine.empty() && !machine->empty() && mark.machine != *machine);
}

void ChassisRoster::OnRow(const std::string& table, const std::string& uuid, const OvsdbRow* row) {
  if (row == nullptr) {
    chassis_.erase(uuid);
    encaps_.erase(uuid);
  } else if (table == kChassis) {
    const std::string* options = row->FindIn(kOtherConfig, kCmsOptions);
    chassis_[uuid] = {.name = row->Text("name"),
                      .hostname = row->Text("hostname"),
                      .options = options == nullptr ? "" : *options};
  } else if (table == kEncap) {
    encaps_[uuid] = {.chassis = row->Text("chassis_name"), .ip = row->Text("ip")};
  }
}

std::vector<ChassisRoster::Stale> ChassisRoster::FindStale() const {
  std::vector<Stale> stale;
  for (const auto& [uuid, chassis] : chassis_) {
    const auto mark = ChassisMark::Parse(chassis.options);
    if (!mark || mark->cluster != cluster_) continue;
    const auto node = nodes_.find(mark->node);
    const auto machine = node == nodes_.end() ? std::nullopt : std::optional(node->second.machine);
    if (IsStale(*mark, machine))
      stale.push_back(
          {.uuid = uuid, .name = chassis.name, .options = chassis.options, .mark = *mark});
  }
  return stale;
}

ChassisRoster::ByNode ChassisRoster::FindNamed() const {
  ByNode named;
  for (const auto& [uuid, chassis] : chassis_) {
    const std::string& name = nodes_.contains(chassis.name) ? chassis.name : chassis.hostname;
    if (nodes_.contains(name)) named[name].push_back(&chassis);
  }
  return named;
}

const ChassisRoster::Chassis* ChassisRoster::FindLookalike(
    const MachineOfNode& node, const std::map<std::string, const Chassis*>& by_address) const {
  for (const IpAddress& address : node.addresses) {
    const auto found = by_address.find(address.ToString());
    if (found != by_address.end()) return found->second;
  }
  const auto found = std::find_if(chassis_.begin(), chassis_.end(), [&](const auto& entry) {
    return NameOf(entry.second.hostname) == NameOf(node.name);
  });
  return found == chassis_.end() ? nullptr : &found->second;
}

std::string ChassisRoster::WhyUnbound(
    const MachineOfNode& node, const std::vector<const Chassis*>& named,
    const std::map<std::string, const Chassis*>& by_address) const {
  if (named.size() == 1) return "";
  if (!named.empty()) {
    std::string names;
    for (const Chassis* chassis : named)
      names += (names.empty() ? "" : " and ") + Quoted(chassis->name);
    return "chassis " + names +
           " of OVN all have the node's name, so OVN may bind its ports to a machine that is gone. "
           "Remove the chassis of that machine: ovn-sbctl chassis-del NAME";
  }
  const Chassis* other = FindLookalike(node, by_address);
  if (other == nullptr) return "";
  return "OVN has no chassis with the name or hostname " + Quoted(node.name) +
         ", so it binds no port of the node. Chassis " + Quoted(other->name) + " with hostname " +
         Quoted(other->hostname) +
         " has the node's address, or its name and a domain. If that is the node itself, set "
         "external_ids:hostname of its Open vSwitch to the Node's name. If that machine is gone: "
         "ovn-sbctl chassis-del " +
         Printable(other->name);
}

ChassisRoster::Assessment ChassisRoster::Assess() const {
  Assessment result{.stale = FindStale(), .problems = {}};
  ByNode named = FindNamed();
  std::map<std::string, const Chassis*> by_name;
  std::map<std::string, const Chassis*> by_address;
  for (const auto& [uuid, chassis] : chassis_) by_name.emplace(chassis.name, &chassis);
  for (const auto& [uuid, encap] : encaps_) {
    const auto chassis = by_name.find(encap.chassis);
    if (chassis != by_name.end()) by_address.emplace(encap.ip, chassis->second);
  }
  for (const auto& [name, node] : nodes_) {
    if (std::string why = WhyUnbound(node, named[name], by_address); !why.empty())
      result.problems[name] = std::move(why);
  }
  for (const Stale& stale : result.stale) {
    if (nodes_.contains(stale.mark.node))
      result.problems[stale.mark.node] =
          "chassis " + Quoted(stale.name) +
          " of OVN is of the node's earlier machine: until kuryr-controller removes it, in a "
          "minute, OVN may bind no port of the node";
  }
  return result;
}

}  // namespace kuryr::controller::ovn
