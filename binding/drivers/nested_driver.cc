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
#include "binding/check.h"
#include "binding/drivers/drivers.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/link_mark.h"
#include "binding/node/parent_link.h"
#include "binding/node/vlan_holder.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

const vif::VifBase& Nested(const vif::Vif& vif) {
  if (!std::holds_alternative<vif::VifMacvlanNested>(vif) &&
      !std::holds_alternative<vif::VifVlanNested>(vif)) {
    throw UnsupportedVif(std::string(ClassName(vif)) + " is not for driver nested");
  }
  return Common(vif);
}

bool IsNested(const Link& link) { return link.kind == "macvlan" || link.kind == "vlan"; }

/// `inside` is a socket of the pod's namespace.
void Unplug(RouteSocket& inside, const Plug& plug, const Attachment& attachment) {
  for (const std::string& name : {plug.ifname, TemporaryLinkName(plug, attachment)}) {
    const auto link = inside.FindLink(name);
    if (!link || !IsNested(*link)) continue;
    if (IsMarkedBy(*link, attachment) || IsUnfinished(*link, attachment)) inside.DeleteLink(name);
  }
}

/// Removes what a killed Connect, or an older sandbox in the same namespace, left.
void Clear(RouteSocket& inside, const Plug& plug, const Attachment& attachment) {
  const auto taken = inside.FindLink(plug.ifname);
  if (taken) {
    const bool leftover =
        IsMarkedByOlderSandbox(*taken, attachment) || IsUnfinished(*taken, attachment);
    if (!IsNested(*taken) || !leftover) ThrowTaken(plug.ifname);
    inside.DeleteLink(plug.ifname);
  }
  const auto renamed = inside.FindLink(TemporaryLinkName(plug, attachment));
  if (renamed && IsNested(*renamed) && IsUnfinished(*renamed, attachment))
    inside.DeleteLink(renamed->name);
}

uint32_t MtuOn(const Link& parent, const vif::VifBase& vif, uint32_t limit) {
  const uint32_t mtu = MtuFor(vif, limit, parent.mtu);
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
  if (IsMarkedByOlderSandbox(holder.link, attachment)) return true;
  const bool in_use = config.is_in_use && !IsMarkedBy(holder.link, attachment) &&
                      config.is_in_use(mark->attachment);
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

void Create(RouteSocket& host, const vif::Vif& vif, const StackedLink& link,
            const Attachment& attachment, const BindingConfig& config) {
  const auto* vlan = std::get_if<vif::VifVlanNested>(&vif);
  if (vlan == nullptr) {
    host.CreateMacvlan(link);
  } else {
    CreateVlan(host, link, *vlan->vlan_id, attachment, config);
  }
}

class NestedDriver final : public Driver {
 public:
  explicit NestedDriver(DriverParts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override {
    const vif::VifBase& own = Nested(vif);
    (void)vif::Required(own.address, "$.address");
    if (const auto* vlan = std::get_if<vif::VifVlanNested>(&vif))
      (void)vif::Required(vlan->vlan_id, "$.vlan_id");
    return {.driver = kNestedDriver, .ifname = ifname};
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    const auto& [vif, plug, attachment, pod, is_default, deadline] = request;
    const vif::VifBase& own = Nested(vif);
    const std::string mark = LinkMark{attachment}.ToString();
    RouteSocket host;
    RouteSocket inside = RouteSocket::OpenIn(pod);
    const Link parent = FindParentLink(host, parts_.config.link_iface);
    const bool taken = host.FindLink(plug.ifname).has_value();
    const StackedLink link = {.name = taken ? TemporaryLinkName(plug, attachment) : plug.ifname,
                              .parent = parent,
                              .netns_fd = pod.fd(),
                              .mac = *own.address,
                              .mtu = MtuOn(parent, own, parts_.config.network_device_mtu),
                              .group = BirthGroup(attachment)};
    Clear(inside, plug, attachment);

    // Before the act: its answer may be lost.
    Rollback undo([&] { TryUndo(plug.ifname, [&] { Unplug(inside, plug, attachment); }); });
    Create(host, vif, link, attachment, parts_.config);
    inside.SetNameAliasAndUp(Find(inside, link.name), plug.ifname, mark);
    ConfigureL3(pod, plug.ifname, own, is_default);
    std::vector<Interface> interfaces = {Describe(Find(inside, plug.ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [vif, plug, attachment, pod, is_default, deadline] = request;
    const vif::VifBase& own = Nested(vif);
    const bool vlan = std::holds_alternative<vif::VifVlanNested>(vif);
    return CheckPodLink(pod,
                        {.name = plug.ifname,
                         .kind = vlan ? "vlan" : "macvlan",
                         .mac = *own.address,
                         .mtu = CheckedMtu(own, parts_.config.network_device_mtu)},
                        attachment, own, is_default);
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& /*deadline*/) override {
    const auto pod = NetnsOf(attachment);
    if (!pod) return;
    RouteSocket inside = RouteSocket::OpenIn(*pod);
    Unplug(inside, plug, attachment);
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
  DriverParts parts_;
};

}  // namespace

std::unique_ptr<Driver> NewNestedDriver(const DriverParts& parts) {
  return std::make_unique<NestedDriver>(parts);
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
