#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "binding/drivers/drivers.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/links/owner.h"
#include "binding/node/parent_link.h"
#include "binding/node/vlan_holder.h"
#include "binding/parts/driver.h"
#include "binding/parts/pod_link_part.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

/// The id of a VLAN; 0 for a macvlan.
uint16_t VlanOf(const vif::Vif& vif) {
  if (const auto* vlan = std::get_if<vif::VifVlanNested>(&vif))
    return vif::Required(vlan->vlan_id, "$.vlan_id");
  (void)OwnVif<vif::VifMacvlanNested>(vif, kNestedDriver);
  return 0;
}

bool IsNested(const Link& link) { return link.kind == "macvlan" || link.kind == "vlan"; }

void RemoveOwn(const Netns& pod, LinkRemover& links, const Plug& plug,
               const Attachment& attachment) {
  RouteSocket inside = RouteSocket::OpenIn(pod);
  for (const std::string& name : {plug.ifname, TemporaryLinkName(plug, attachment)}) {
    const auto link = inside.FindLink(name);
    if (link && IsNested(*link) && IsOwn(OwnerOf(*link, attachment))) links.RemoveIn(pod, *link);
  }
}

/// Removes what a killed Connect, or an older sandbox in the same namespace, left.
void RemoveLeftovers(RouteSocket& inside, const Plug& plug, const Attachment& attachment) {
  const auto taken = inside.FindLink(plug.ifname);
  if (taken) {
    if (!IsNested(*taken) || !IsLeftover(OwnerOf(*taken, attachment))) ThrowTaken(plug.ifname);
    inside.DeleteLink(plug.ifname);
  }
  const auto renamed = inside.FindLink(TemporaryLinkName(plug, attachment));
  if (renamed && IsNested(*renamed) && OwnerOf(*renamed, attachment) == Owner::kUnfinished)
    inside.DeleteLink(renamed->name);
}

uint32_t MtuOn(const Link& parent, const PlannedMtu& planned) {
  const uint32_t mtu = planned.On(parent.mtu);
  if (mtu > parent.mtu) {
    ThrowErrno(EINVAL, "the network's MTU " + std::to_string(mtu) + " is larger than " +
                           std::to_string(parent.mtu) + ", the MTU of the parent link " +
                           parent.name);
  }
  return mtu;
}

/// Whether a VLAN's holder is an older sandbox's of this pod, or in a namespace without a process.
bool IsAbandoned(const VlanHolder& holder, const Attachment& attachment,
                 const BindingConfig& config) {
  const auto mark = LinkMark::Parse(holder.link.alias);
  if (!mark) return false;
  const Owner owner = OwnerOf(mark->attachment, attachment);
  if (owner == Owner::kOlder) return true;
  const bool in_use =
      config.is_in_use && owner != Owner::kOwn && config.is_in_use(mark->attachment);
  return !holder.inhabited && !in_use;
}

/// A parent has each id once. Neutron gives it to one port, so its holder is a leftover. The holder
/// is removed if it shows to be one.
void CreateVlan(RouteSocket& host, const StackedLink& link, uint16_t id,
                const Attachment& attachment, const BindingConfig& config) {
  if (host.CreateVlan(link, id)) return;
  const std::string what = "VLAN " + std::to_string(id) + " on " + link.parent.name;
  const auto holder = FindVlanHolder(link.parent, id, attachment);
  if (!holder) ThrowErrno(EEXIST, what + " is another interface's, in a namespace without a path");
  const std::string who = holder->link.name + " in " + holder->where + " (alias \"" +
                          Printable(holder->link.alias) + "\")";
  if (!IsAbandoned(*holder, attachment, config)) {
    Log(LogLevel::kWarning, "VLAN is another interface's", {{"vlan", what}, {"holder", who}});
    ThrowErrno(EEXIST, what + " belongs to another interface");
  }
  Log(LogLevel::kWarning, "VLAN is held by an interface that was left behind, which is removed",
      {{"vlan", std::to_string(id)}, {"parent", link.parent.name}, {"holder", who}});
  RouteSocket::OpenIn(holder->netns).DeleteLink(holder->link.name);
  if (!host.CreateVlan(link, id))
    ThrowErrno(EEXIST, what + " belonged to a leftover and is taken again");
}

/// The pod's link, on top of a link of the node. Nothing of it is on the host.
class NestedLinkPart final : public PodLinkPart {
 public:
  NestedLinkPart(PlugSite& site, std::string kind)
      : PodLinkPart(site, {.kind = std::move(kind), .marked = true}) {}

  void Require() override {
    RouteSocket& host = site().host();
    parent_ = FindParentLink(host, site().config().link_iface);
    is_taken_ = host.FindLink(ifname()).has_value();
    mtu_ = MtuOn(*parent_, site().planned().mtu);
  }
  void Clear() override { RemoveLeftovers(site().inside(), site().plug(), site().attachment()); }
  void Make() override {
    const Attachment& attachment = site().attachment();
    const StackedLink link = {
        .name = is_taken_ ? TemporaryLinkName(site().plug(), attachment) : ifname(),
        .parent = parent_.value(),
        .netns_fd = site().pod().fd(),
        .mac = site().planned().mac,
        .mtu = mtu_,
        .group = BirthGroup(attachment)};
    if (site().planned().vlan == 0) {
      site().host().CreateMacvlan(link);
    } else {
      CreateVlan(site().host(), link, site().planned().vlan, attachment, site().config());
    }
    RouteSocket& inside = site().inside();
    const Link made = Find(inside, link.name);
    Prepare(made);
    inside.SetNameAliasAndUp(made, ifname(), LinkMark{attachment}.ToString());
  }
  void Remove(const Attachment& owner) override {
    const auto pod = NetnsOf(owner);
    if (pod) RemoveOwn(*pod, site().shared().links, site().plug(), owner);
  }
  void Undo() override {
    RemoveOwn(site().pod(), site().shared().links, site().plug(), site().attachment());
  }

 private:
  std::optional<Link> parent_;
  bool is_taken_ = false;  ///< the host has a link of the pod's name as well
  uint32_t mtu_ = 0;
};

class NestedDriver final : public Driver {
 public:
  explicit NestedDriver(DriverContext context) : Driver(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& /*vif*/, const std::string& ifname) const override {
    return {.driver = kNestedDriver, .ifname = ifname};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    planned.vlan = VlanOf(vif.vif);
    return planned;
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    std::vector<Plug> plugs;
    for (const Link& link : FindMarkedLinks(attachment)) {
      if (IsNested(link)) plugs.push_back({.driver = kNestedDriver, .ifname = link.name});
    }
    return plugs;
  }

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    const bool is_vlan = site.HasPlan() && site.planned().vlan != 0;
    Parts parts;
    Add<NestedLinkPart>(parts, site, is_vlan ? "vlan" : "macvlan");
    Add<Layer3Part>(parts, site);
    return parts;
  }
};

}  // namespace

std::unique_ptr<Driver> NewNestedDriver(const DriverContext& context) {
  return std::make_unique<NestedDriver>(context);
}

std::string TemporaryLinkName(const Plug& plug, const Attachment& attachment) {
  return "kuryr" +
         Hex(Hash(attachment.network + " " + attachment.container_id + " " + plug.ifname), 10);
}

}  // namespace kuryr::binding
