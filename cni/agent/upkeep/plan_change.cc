#include "cni/agent/upkeep/plan_change.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "binding/drivers/drivers.h"

namespace kuryr::cni {
namespace {

using binding::L3Plan;
using binding::LinkRoute;
using binding::Planned;

constexpr const char* kNeedsNewPod = ", which needs a new pod";

const vif::PodVif* FindDefault(const std::vector<vif::PodVif>& vifs) {
  const auto found =
      std::find_if(vifs.begin(), vifs.end(), [](const vif::PodVif& vif) { return vif.is_default; });
  return found == vifs.end() ? nullptr : &*found;
}

bool IsSameVif(const vif::PodVif& a, const vif::PodVif& b) {
  return a.ifname == b.ifname && vif::Common(a.vif).id == vif::Common(b.vif).id;
}

const vif::PodVif* FindSame(const std::vector<vif::PodVif>& vifs, const vif::PodVif& wanted) {
  const auto found = std::find_if(vifs.begin(), vifs.end(),
                                  [&](const vif::PodVif& vif) { return IsSameVif(vif, wanted); });
  return found == vifs.end() ? nullptr : &*found;
}

bool IsPlanOf(const AttachmentRecord& record, const std::optional<PlannedPod>& pod) {
  if (!pod || !pod->plan || pod->plan->problem || record.pod_uid.empty()) return false;
  return pod->uid == record.pod_uid || pod->manifest_hash == record.pod_uid;
}

/// The plan's VIFs under the names that they have in the record's pod.
std::vector<vif::PodVif> PlannedVifs(const AttachmentRecord& record, const PlannedPod& pod) {
  std::vector<vif::PodVif> vifs = pod.plan->read;
  for (vif::PodVif& vif : vifs) {
    if (vif.is_default) vif.ifname = record.key.ifname;
  }
  return vifs;
}

bool SameL3(const L3Plan& a, const L3Plan& b) {
  const auto same_address = [](const L3Plan::Address& one, const L3Plan::Address& other) {
    return one.network == other.network && one.gateway == other.gateway;
  };
  const auto same_route = [](const LinkRoute& one, const LinkRoute& other) {
    return one.destination == other.destination && one.gateway == other.gateway;
  };
  return std::equal(a.addresses.begin(), a.addresses.end(), b.addresses.begin(), b.addresses.end(),
                    same_address) &&
         std::equal(a.routes.begin(), a.routes.end(), b.routes.begin(), b.routes.end(),
                    same_route) &&
         a.is_default == b.is_default;
}

/// The part of a port that never changes while its pod runs.
bool SamePort(const std::optional<binding::OvsPort>& a, const std::optional<binding::OvsPort>& b) {
  if (!a || !b) return !a && !b;
  return a->type == b->type && a->options == b->options && a->external_ids == b->external_ids &&
         a->isolated == b->isolated && a->settings.vlan == b->settings.vlan &&
         a->settings.trunks == b->settings.trunks;
}

bool SameSettings(const std::optional<binding::OvsPort>& a,
                  const std::optional<binding::OvsPort>& b) {
  return !a || !b || (a->settings == b->settings && a->qos_type == b->qos_type);
}

/// The property that a running pod's interface keeps; empty where none differs.
std::string WhyNewPod(const Planned& before, const Planned& after) {
  const binding::Plug& old = before.plug;
  if (old.driver != after.plug.driver) return "another kind of VIF";
  if (old.bridge != after.plug.bridge) return "another bridge";
  if (old.host_interface != after.plug.host_interface || old.device != after.plug.device)
    return "another device on the node";
  if (before.mac != after.mac) return "another MAC address";
  if (before.vlan != after.vlan) return "another VLAN";
  return SamePort(before.port, after.port) ? "" : "another port";
}

/// Collects what FindPlanChange finds.
class Comparison {
 public:
  Comparison(const binding::Binding& binding, const AttachmentRecord& record)
      : binding_(binding), record_(record) {
    for (const binding::Plug& plug : record.plugs) Use(plug);
  }

  void Keep(size_t index, const vif::PodVif& wanted) {
    const vif::PodVif& known = record_.vifs[index];
    if (known == wanted) return;
    Try(wanted, [&] {
      Planned before = binding_.PlanWith(known, record_.plugs[index], record_.LimitsOf(known));
      Planned after = binding_.Plan(wanted, record_.LimitsOf(wanted));
      const std::string why = WhyNewPod(before, after);
      if (!why.empty()) return Refuse(wanted, "is planned with " + why + kNeedsNewPod);
      const bool same = before.mtu.Checked() == after.mtu.Checked() &&
                        SameL3(before.l3, after.l3) && SameSettings(before.port, after.port);
      if (!same) change_.changed.push_back({index, wanted, std::move(before), std::move(after)});
    });
  }

  void Remove(const vif::PodVif& vif, const binding::Plug& plug) {
    change_.removed.push_back(vif.ifname);
    ifnames_.erase(plug.ifname);
    for (const std::string& name : binding::HostNamesOf(plug)) host_names_.erase(name);
  }

  void Add(const vif::PodVif& vif) {
    Try(vif, [&] {
      Planned planned = binding_.Plan(vif, record_.LimitsOf(vif));
      const binding::DriverRow* row = binding::FindDriverRow(planned.plug.driver);
      if (row == nullptr || row->device != binding::PodDevice::kNone || !row->has_pod_link)
        return Refuse(vif, std::string("is a device of the node") + kNeedsNewPod);
      if (ifnames_.contains(vif.ifname)) return Refuse(vif, "is a name that the pod uses already");
      for (const std::string& name : binding::HostNamesOf(planned.plug)) {
        if (host_names_.contains(name))
          return Refuse(vif, "is planned with " + Printable(name) +
                                 ", which another interface of the pod has");
      }
      Use(planned.plug);
      change_.added.push_back({vif, std::move(planned)});
    });
  }

  void Refuse(const vif::PodVif& vif, const std::string& why) {
    change_.refused.push_back(vif.ifname + " " + why);
  }

  [[nodiscard]] PlanChange change() && { return std::move(change_); }

 private:
  void Use(const binding::Plug& plug) {
    ifnames_.insert(plug.ifname);
    for (std::string& name : binding::HostNamesOf(plug)) host_names_.insert(std::move(name));
  }
  /// A VIF that the node cannot have leaves the others to be looked at.
  template <typename Act>
  void Try(const vif::PodVif& vif, const Act& act) {
    try {
      act();
    } catch (const std::exception& e) {
      Refuse(vif, std::string("cannot be planned: ") + Printable(e.what(), 300));
    }
  }

  const binding::Binding& binding_;
  const AttachmentRecord& record_;
  std::set<std::string> ifnames_;     ///< of the pod, as far as kuryr-cni knows
  std::set<std::string> host_names_;  ///< links and ports of the pod on the host
  PlanChange change_;
};

}  // namespace

PlanChange FindPlanChange(const binding::Binding& binding, const AttachmentRecord& record,
                          const std::optional<PlannedPod>& pod) {
  if (!IsPlanOf(record, pod)) return {};
  const std::vector<vif::PodVif> planned = PlannedVifs(record, *pod);
  const vif::PodVif* before = FindDefault(record.vifs);
  const vif::PodVif* after = FindDefault(planned);
  if (before == nullptr || after == nullptr) return {};
  Comparison comparison(binding, record);
  if (!IsSameVif(*before, *after)) {
    comparison.Refuse(*after, std::string("is another default interface") + kNeedsNewPod);
    return std::move(comparison).change();
  }
  for (size_t i = 0; i < record.vifs.size(); ++i) {
    const vif::PodVif* wanted = FindSame(planned, record.vifs[i]);
    if (wanted != nullptr) {
      comparison.Keep(i, *wanted);
    } else {
      comparison.Remove(record.vifs[i], record.plugs[i]);
    }
  }
  for (const vif::PodVif& vif : planned) {
    if (FindSame(record.vifs, vif) == nullptr) comparison.Add(vif);
  }
  return std::move(comparison).change();
}

}  // namespace kuryr::cni
