#include "controller/rounds/interface_change.h"

#include <algorithm>
#include <set>

#include "controller/owners/plan_verdict.h"
#include "controller/plan/network_selection.h"

namespace kuryr::controller {
namespace {

std::set<std::string> NamesOf(const std::vector<vif::PodVif>& vifs) {
  std::set<std::string> names;
  for (const vif::PodVif& vif : vifs) names.insert(vif.ifname);
  return names;
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

InterfaceChange::InterfaceChange(const PlanRequest& request,
                                 const std::vector<vif::PodVif>& planned) {
  const std::set<std::string> known = NamesOf(planned);
  std::set<std::string> asked;
  for (const InterfaceRequest& interface : request.interfaces) {
    asked.insert(interface.ifname);
    if (!known.contains(interface.ifname)) added.push_back(interface.ifname);
  }
  for (const vif::PodVif& vif : planned) {
    if (asked.contains(vif.ifname)) continue;
    removed.push_back(vif.ifname);
    for (const IpAddress& address : PlannedAddresses({vif})) released.push_back(address);
  }
}

std::string InterfaceChange::ToString() const {
  std::string text;
  if (!added.empty()) text = "added " + ListOf(added);
  if (!removed.empty()) text += (text.empty() ? "removed " : "; removed ") + ListOf(removed);
  return text;
}

bool MayHaveChanged(const PodFacts& pod, const std::vector<vif::PodVif>& planned) {
  if (pod.networks.empty() && planned.size() == 1) return false;
  std::set<std::string> asked = {std::string(vif::kDefaultIfname)};
  for (const NetworkSelection& selection : ParseNetworkSelections(pod.networks, pod.name_space))
    asked.insert(selection.ifname);
  return asked != NamesOf(planned);
}

}  // namespace kuryr::controller
