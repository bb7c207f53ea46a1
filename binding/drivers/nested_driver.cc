#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"
#include "binding/drivers/drivers.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/link_mark.h"
#include "binding/node/parent_link.h"
#include "binding/node/vlan_holder.h"
#include "binding/owner.h"
#include "binding/parts/check.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

/// Of a VLAN; 0 for a macvlan.
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

/// Another pod's interface in a namespace where nobody lives any more, or an older sandbox's.
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

/// A parent has each id once. Neutron gives it to one port, so who holds it is a leftover; it is
/// removed if that can be seen.
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

class NestedDriver final : public Driver {
 public:
  explicit NestedDriver(DriverContext context) : context_(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& /*vif*/, const std::string& ifname) const override {
    return {.driver = kNestedDriver, .ifname = ifname};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    planned.vlan = VlanOf(vif.vif);
    return planned;
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    const std::string mark = LinkMark{attachment}.ToString();
    RouteSocket host;
    RouteSocket inside = RouteSocket::OpenIn(pod);
    const Link parent = FindParentLink(host, context_.config.link_iface);
    const bool taken = host.FindLink(plug.ifname).has_value();
    const StackedLink link = {.name = taken ? TemporaryLinkName(plug, attachment) : plug.ifname,
                              .parent = parent,
                              .netns_fd = pod.fd(),
                              .mac = planned.mac,
                              .mtu = MtuOn(parent, planned.mtu),
                              .group = BirthGroup(attachment)};
    RemoveLeftovers(inside, plug, attachment);

    // Before the act: its answer may be lost.
    Rollback undo([&] {
      TryUndo(plug.ifname, [&] { RemoveOwn(pod, context_.shared.links, plug, attachment); });
    });
    if (planned.vlan == 0) {
      host.CreateMacvlan(link);
    } else {
      CreateVlan(host, link, planned.vlan, attachment, context_.config);
    }
    inside.SetNameAliasAndUp(Find(inside, link.name), plug.ifname, mark);
    ConfigureL3(pod, plug.ifname, planned.l3, L3Scope::kPod);
    std::vector<Interface> interfaces = {Describe(Find(inside, plug.ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    return CheckPodLink(request, {.kind = request.planned.vlan == 0 ? "macvlan" : "vlan"});
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& /*deadline*/) override {
    const auto pod = NetnsOf(attachment);
    if (pod) RemoveOwn(*pod, context_.shared.links, plug, attachment);
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    std::vector<Plug> plugs;
    for (const Link& link : FindMarkedLinks(attachment)) {
      if (IsNested(link)) plugs.push_back({.driver = kNestedDriver, .ifname = link.name});
    }
    return plugs;
  }

 private:
  DriverContext context_;
};

}  // namespace

std::unique_ptr<Driver> NewNestedDriver(const DriverContext& context) {
  return std::make_unique<NestedDriver>(context);
}

std::string TemporaryLinkName(const Plug& plug, const Attachment& attachment) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : attachment.network + " " + attachment.container_id + " " + plug.ifname)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string name = "kuryr";
  for (int digit = 0; digit < 10; ++digit, hash >>= 4U) name += "0123456789abcdef"[hash & 0xfU];
  return name;
}

}  // namespace kuryr::binding
