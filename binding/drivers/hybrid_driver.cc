#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
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
#include "binding/neutron_port.h"
#include "binding/owner.h"
#include "binding/parts/check.h"
#include "binding/parts/port_session.h"
#include "binding/try_all.h"
#include "binding/veth.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

constexpr const char* kBridgePrefix = "qbr";
constexpr const char* kBridgeEndPrefix = "qvb";
constexpr const char* kPortPrefix = "qvo";
constexpr size_t kPrefixLength = 3;

/// All links on the host are named like the bridge, which Plug::device is.
std::string Renamed(const char* prefix, const std::string& name) {
  return prefix + name.substr(std::min(kPrefixLength, name.size()));
}
std::string BridgeEndOf(const Plug& plug) { return Renamed(kBridgeEndPrefix, plug.device); }
std::string PortOf(const Plug& plug) { return Renamed(kPortPrefix, plug.device); }

/// It will be made and removed: not any bridge of the node. os-vif calls it after the port's UUID.
void RequireOwnHub(const std::string& bridge, const std::string& id) {
  constexpr size_t kDigits = 8;
  const std::string digits = id.substr(0, kDigits);
  const bool is_uuid = digits.size() == kDigits &&
                       std::all_of(digits.begin(), digits.end(),
                                   [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (is_uuid && bridge.starts_with(kBridgePrefix + digits + "-")) return;
  throw ParseError("$.bridge_name", "\"" + bridge +
                                        "\" does not begin with \"qbr\" and the first eight "
                                        "digits of the UUID $.id, as a hybrid plug's does");
}

/// Of the plug's names one is the bridge's. The annotation chooses the others too, and a bridge of
/// such a name is the node's, however unfinished it looks.
bool IsHubOf(const Plug& plug, const Link& link) {
  return link.kind == "bridge" && link.name == plug.device;
}

bool HasKindOf(const Plug& plug, const Link& link) {
  return IsHubOf(plug, link) || (link.kind == "veth" && link.name != plug.device);
}

bool IsOwnLink(const Plug& plug, const Link& link, const Attachment& attachment) {
  return HasKindOf(plug, link) && IsOwn(OwnerOf(link, attachment));
}

void DeleteOwnLinks(RouteSocket& host, Shared& shared, const Plug& plug,
                    const Attachment& attachment) {
  std::vector<Link> own;
  for (const std::string& name : {plug.host_interface, PortOf(plug), plug.device}) {
    const auto link = host.FindLink(name);
    if (link && IsOwnLink(plug, *link, attachment)) own.push_back(*link);
  }
  RemoveOwnLinks(host, shared.links, own);
}

void RemovePortAndLinks(PortSession& session, Shared& shared, const Plug& plug,
                        const Attachment& attachment) {
  RouteSocket host;
  TryAll steps;
  steps.Try(
      [&] { session.ovs().DeletePort(PortOf(plug), OwnerIds(attachment), session.deadline()); });
  steps.Try([&] { DeleteOwnLinks(host, shared, plug, attachment); });
  steps.Finish();
}

/// One Connect: what it needs at hand, and what it may have to undo.
class HybridWiring {
 public:
  HybridWiring(Driver& driver, const DriverContext& context, const PlugRequest& request)
      : driver_(driver),
        context_(context),
        request_(request),
        plug_(request.planned.plug),
        mark_(LinkMark{request.attachment}.ToString()),
        inside_(RouteSocket::OpenIn(request.pod)),
        session_(PortSession::Patient(context, request.deadline)) {}

  std::vector<Interface> Make() {
    const Planned& planned = request_.planned;
    const OvsPort port = OwnedPort(planned, request_.attachment);
    const uint32_t mtu = MtuOnBridge(host_, planned);
    session_.Connect();
    RequireFree(inside_, plug_.ifname);
    RemoveLeftovers();
    // The pod's link is no port, and may be named like one that was: ovs-vswitchd sets that down by
    // name.
    for (const std::string& name : {plug_.host_interface, port.name}) session_.WaitUntilLetGo(name);

    Rollback undo([this] { Undo(); });
    const Link bridge = MakeBridgeAndPort(mtu);
    session_.Add(port, planned.datapath_type);
    session_.JoinMirrors();
    if (session_.IsUserspace()) host_.MakeChecksums(GlanceAt(host_, BridgeEndOf(plug_)));
    // ovs-vswitchd is at work; meanwhile the pod's side.
    LinkToPod(bridge, mtu);
    ConfigureL3(request_.pod, plug_.ifname, planned.l3, L3Scope::kPod);
    session_.WaitUntilUp();
    const Link port_end = GlanceAt(host_, port.name);
    // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
    if (!port_end.up) host_.SetUp(port_end);
    for (const std::string& name : {BridgeEndOf(plug_), plug_.host_interface})
      (void)WaitUntilRunning(host_, Find(host_, name), session_.deadline().AtMost(kCarrierTime));
    std::vector<Interface> interfaces = {Describe(GlanceAt(host_, plug_.host_interface), false),
                                         Describe(GlanceAt(inside_, plug_.ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

 private:
  /// Throws HostInterfaceInUse for what is neither ours nor a leftover.
  void RemoveLeftovers() {
    const Attachment& own = request_.attachment;
    std::optional<Attachment> older;
    bool unfinished = false;
    for (const std::string& name :
         {plug_.host_interface, plug_.device, BridgeEndOf(plug_), PortOf(plug_)}) {
      const auto link = FindOnceReplaced(host_, name, own, session_.deadline());
      if (!link) continue;
      const Owner owner = OwnerOf(*link, own);
      if (!HasKindOf(plug_, *link) || !IsLeftover(owner)) ThrowInUse(*link);
      if (owner == Owner::kUnfinished) {
        unfinished = true;
      } else {
        older = LinkMark::Parse(link->alias)->attachment;
      }
    }
    if (older) RemovePortAndLinks(session_, context_.shared, plug_, *older);
    if (unfinished) RemovePortAndLinks(session_, context_.shared, plug_, own);
  }

  /// With a link to Open vSwitch.
  Link MakeBridgeAndPort(uint32_t mtu) {
    const MutexLock turn(context_.shared.making_links);
    const Link bridge = MakeBridge();
    LinkToOpenVSwitch(bridge, mtu);
    return bridge;
  }

  Link MakeBridge() {
    if (!host_.CreateHub(plug_.device, BirthGroup(request_.attachment)))
      throw HostInterfaceInUse("bridge " + plug_.device + " was made by somebody else just now");
    const Link bridge = Find(host_, plug_.device);
    Silence(bridge.name);
    MarkAndSetUp(host_, bridge, mark_);
    return bridge;
  }

  void LinkToOpenVSwitch(const Link& bridge, uint32_t mtu) {
    host_.CreateVeth({.name = BridgeEndOf(plug_),
                      .peer_name = PortOf(plug_),
                      .mtu = mtu,
                      .master = bridge.index,
                      .group = BirthGroup(request_.attachment)});
    for (const std::string& name : {BridgeEndOf(plug_), PortOf(plug_)})
      SetUpHostEnd(host_, name, mark_);
  }

  void LinkToPod(const Link& bridge, uint32_t mtu) {
    const MutexLock turn(context_.shared.making_links);
    host_.CreateVeth({.name = plug_.host_interface,
                      .peer_name = plug_.ifname,
                      .peer_netns_fd = request_.pod.fd(),
                      .peer_mac = request_.planned.mac,
                      .mtu = mtu,
                      .master = bridge.index,
                      .group = BirthGroup(request_.attachment)});
    SetUpHostEnd(host_, plug_.host_interface, mark_);
    inside_.SetUp(GlanceAt(inside_, plug_.ifname));
  }

  void Undo() noexcept {
    session_.Undo(plug_.host_interface, [this](const Deadline& deadline) {
      driver_.Disconnect(plug_, request_.attachment, deadline);
    });
  }

  Driver& driver_;
  const DriverContext& context_;
  const PlugRequest& request_;
  const Plug& plug_;
  const std::string mark_;
  RouteSocket host_;
  RouteSocket inside_;
  PortSession session_;
};

class HybridDriver final : public Driver {
 public:
  explicit HybridDriver(DriverContext context) : context_(std::move(context)) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifBridge>(vif, kHybridDriver);
    const vif::Network& network = vif::Required(own.network, "$.network");
    const std::string bridge = LinkNameOf(own.bridge_name, "$.bridge_name");
    RequireOwnHub(bridge, own.id.value_or(""));
    return {.driver = kHybridDriver,
            .ifname = ifname,
            .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
            .bridge = LinkNameOf(network.bridge, "$.network.bridge"),
            .device = bridge};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    PlanPort(Common(vif.vif), plug, PortOf(plug), context_.config, planned);
    return planned;
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    return HybridWiring(*this, context_, request).Make();
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    RouteSocket host;
    const uint32_t mtu = planned.mtu.Checked();
    const WantedLink hub = {.name = plug.device, .kind = "bridge"};
    if (auto difference = CheckLink(host, hub, attachment)) return difference;
    const int master = Find(host, plug.device).index;
    const WantedLink tap = {
        .name = plug.host_interface, .kind = "veth", .mtu = mtu, .master = master};
    if (auto difference = CheckLink(host, tap, attachment)) return difference;
    const OvsPort port = OwnedPort(planned, attachment);
    const WantedLink port_end = {.name = port.name, .kind = "veth", .mtu = mtu};
    if (auto difference = CheckLink(host, port_end, attachment)) return difference;
    PortSession session = PortSession::AtOnce(context_, deadline);
    if (auto difference = session.Check(port)) return difference;
    const WantedLink bridge_end = {.name = BridgeEndOf(plug),
                                   .kind = "veth",
                                   .mtu = mtu,
                                   .master = master,
                                   .makes_checksums = session.IsUserspace()};
    if (auto difference = CheckLink(host, bridge_end, attachment)) return difference;
    return CheckPodLink(request, {.kind = "veth", .marked = false});
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override {
    PortSession session = PortSession::AtOnce(context_, deadline);
    RemovePortAndLinks(session, context_.shared, plug, attachment);
  }

 private:
  DriverContext context_;
};

}  // namespace

std::unique_ptr<Driver> NewHybridDriver(const DriverContext& context) {
  return std::make_unique<HybridDriver>(context);
}

}  // namespace kuryr::binding
