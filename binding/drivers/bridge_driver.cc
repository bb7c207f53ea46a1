#include <algorithm>
#include <cctype>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/drivers/drivers.h"
#include "binding/host_link.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/link_mark.h"
#include "binding/netlink/link_watch.h"
#include "binding/node/provided_bridge.h"
#include "binding/parts/check.h"
#include "binding/veth.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

void RemoveLeftover(RouteSocket& host, const Plug& plug, const Attachment& attachment,
                    const Deadline& deadline) {
  const auto link = FindOnceReplaced(host, plug.host_interface, attachment, deadline);
  if (!link) return;
  if (!IsLeftoverVeth(*link, attachment)) ThrowInUse(*link);
  host.DeleteLink(*link);
}

/// As os-vif calls what it makes for one hybrid port: "qbr" and the beginning of the port's id.
bool IsHybridName(std::string_view bridge) {
  constexpr size_t kDigits = 8;
  if (!bridge.starts_with("qbr")) return false;
  const std::string_view id = bridge.substr(3);
  const std::string_view digits = id.substr(0, kDigits);
  return id.size() > kDigits && id[kDigits] == '-' &&
         std::all_of(digits.begin(), digits.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Whoever joins it sees another port's packets.
std::string SharedBridgeOf(const vif::VifBridge& vif) {
  std::string bridge = BridgeOf(vif.bridge_name, vif);
  if (IsHybridName(bridge)) {
    throw UnsupportedVif("VIFBridge with plugin \"linux_bridge\" on " + bridge +
                         ", which is the name of a single port's own bridge");
  }
  return bridge;
}

class BridgeDriver final : public Driver {
 public:
  explicit BridgeDriver(DriverContext context) : context_(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifBridge>(vif, kBridgeDriver);
    return {.driver = kBridgeDriver,
            .ifname = ifname,
            .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
            .bridge = SharedBridgeOf(own)};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    planned.provision = PlanProvision(OwnVif<vif::VifBridge>(vif.vif, kBridgeDriver));
    return planned;
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    RouteSocket host;
    RouteSocket inside = RouteSocket::OpenIn(pod);
    RequireFree(inside, plug.ifname);
    ProvidedBridge bridge(host, planned, context_.config);
    RemoveLeftover(host, plug, attachment, deadline);

    // Rollbacks before their acts: an answer may be lost.
    Rollback remove_bridge([&] { TryUndo(plug.bridge, [&] { bridge.Remove(); }); });
    bridge.Provide();
    Rollback remove_veth([&] {
      TryUndo(plug.host_interface,
              [&] { DeleteOwnVeth(host, context_.shared.links, plug.host_interface, attachment); });
    });
    MakeVeth(host, request, bridge.link());
    inside.SetAliasAndUp(Find(inside, plug.ifname), LinkMark{attachment}.ToString());
    ConfigureL3(pod, plug.ifname, planned.l3, L3Scope::kPod);
    const Link host_end = Find(host, plug.host_interface);
    (void)WaitUntilRunning(host, host_end, deadline.AtMost(kCarrierTime));
    // Who made the bridge may have failed meanwhile, and have taken it away again.
    if (host_end.master != bridge.link().index)
      ThrowErrno(ENODEV, "keep " + host_end.name + " on bridge " + plug.bridge);
    std::vector<Interface> interfaces = {Describe(host_end, false),
                                         Describe(Find(inside, plug.ifname), true)};
    remove_veth.Dismiss();
    remove_bridge.Dismiss();
    return interfaces;
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    RouteSocket host;
    const auto bridge = host.FindLink(plug.bridge);
    if (!bridge) return "bridge " + plug.bridge + " is missing";
    const WantedLink host_end = {.name = plug.host_interface,
                                 .kind = "veth",
                                 .mtu = planned.mtu.Checked(),
                                 .master = bridge->index};
    if (auto difference = CheckLink(host, host_end, attachment)) return difference;
    return CheckPodLink(request, {.kind = "veth"});
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& /*deadline*/) override {
    RouteSocket host;
    DeleteOwnVeth(host, context_.shared.links, plug.host_interface, attachment);
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    std::vector<Plug> plugs;
    RouteSocket host;
    for (const Link& link : FindMarkedLinks(attachment)) {
      // Old kernels leave out a peer's index that is the same as the link's own.
      const int peer = link.lower != 0 ? link.lower : link.index;
      const auto host_end = link.kind == "veth" ? host.FindLink(peer) : std::nullopt;
      if (!host_end || !IsOwnVeth(*host_end, attachment)) continue;
      const auto bridge = host.FindLink(host_end->master);
      plugs.push_back({.driver = kBridgeDriver,
                       .ifname = link.name,
                       .host_interface = host_end->name,
                       .bridge = bridge ? bridge->name : ""});
    }
    return plugs;
  }

  [[nodiscard]] std::vector<FoundPlug> FindPlugsOf(const std::string& network,
                                                   const Deadline& /*deadline*/) const override {
    std::vector<FoundPlug> found;
    RouteSocket host;
    for (const std::string& name : LinkNamesIn(Netns::Current())) {
      const auto link = host.FindLink(name);
      const auto mark = link && link->kind == "veth" ? LinkMark::Parse(link->alias) : std::nullopt;
      if (!mark || mark->attachment.network != network) continue;
      found.push_back({.attachment = mark->attachment,
                       .plug = {.driver = kBridgeDriver,
                                .ifname = mark->attachment.ifname,
                                .host_interface = name}});
    }
    return found;
  }

 private:
  void MakeVeth(RouteSocket& host, const PlugRequest& request, const Link& bridge) {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    const MutexLock turn(context_.shared.making_links);
    host.CreateVeth({.name = plug.host_interface,
                     .peer_name = plug.ifname,
                     .peer_netns_fd = pod.fd(),
                     .peer_mac = planned.mac,
                     .mtu = MtuOnBridge(host, planned),
                     .master = bridge.index,
                     .group = BirthGroup(attachment)});
    if (context_.config.hairpin == HairpinMode::kHairpinVeth)
      host.SetHairpin(Find(host, plug.host_interface));
    SetUpHostEnd(host, plug.host_interface, LinkMark{attachment}.ToString());
  }

  DriverContext context_;
};

}  // namespace

std::unique_ptr<Driver> NewBridgeDriver(const DriverContext& context) {
  return std::make_unique<BridgeDriver>(context);
}

}  // namespace kuryr::binding
