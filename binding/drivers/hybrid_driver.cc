#include "binding/drivers/hybrid_driver.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/check.h"
#include "binding/host_link.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/link_mark.h"
#include "binding/neutron_port.h"
#include "binding/steps.h"
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

bool HasPorts(RouteSocket& host, const Link& bridge) {
  const std::vector<std::string> names = LinkNamesIn(Netns::Current());
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto link = host.FindLink(name);
    return link && link->master == bridge.index;
  });
}

/// Made, and its maker killed before it could mark it. Ports and addresses are an operator's: ours
/// has its first port after its mark, and never an address.
bool IsUnfinishedHub(RouteSocket& host, const Link& link) {
  return link.kind == "bridge" && link.alias.empty() && !link.up &&
         host.AddressesOf(link).empty() && !HasPorts(host, link);
}

/// Of the plug's names one is the bridge's. The annotation chooses the others too, and a bridge of
/// such a name is the node's, however unfinished it looks.
bool IsHubOf(const Plug& plug, const Link& link) {
  return link.kind == "bridge" && link.name == plug.device;
}

bool IsUnfinished(RouteSocket& host, const Plug& plug, const Link& link) {
  if (link.name == plug.device) return IsUnfinishedHub(host, link);
  return IsUnfinishedVeth(link);
}

bool IsOlderSandboxs(const Plug& plug, const Link& link, const Attachment& attachment) {
  if (!IsHubOf(plug, link) && link.kind != "veth") return false;
  return IsMarkedByOlderSandbox(link, attachment);
}

bool IsOwn(RouteSocket& host, const Plug& plug, const Link& link, const Attachment& attachment) {
  if (!IsHubOf(plug, link)) return IsOwnVeth(link, attachment);
  return IsMarkedBy(link, attachment) || IsUnfinishedHub(host, link);
}

void DeleteOwnLinks(RouteSocket& host, Shared& shared, const Plug& plug,
                    const Attachment& attachment) {
  std::vector<Link> own;
  for (const std::string& name : {plug.host_interface, PortOf(plug), plug.device}) {
    const auto link = host.FindLink(name);
    if (link && IsOwn(host, plug, *link, attachment)) own.push_back(*link);
  }
  shared.links.Remove(host, own);
}

void Unplug(OpenVSwitch& ovs, Shared& shared, const Plug& plug, const Attachment& attachment,
            const Deadline& deadline) {
  RouteSocket host;
  Steps steps;
  steps.Try([&] { ovs.DeletePort(PortOf(plug), OwnerIds(attachment), deadline); });
  steps.Try([&] { DeleteOwnLinks(host, shared, plug, attachment); });
  steps.Finish();
}

/// Without patience for an ovsdb-server that is down.
void UnplugAtOnce(const BindingConfig& config, Shared& shared, const Plug& plug,
                  const Attachment& attachment, const Deadline& deadline) {
  OpenVSwitch ovs(config.ovsdb_connection, &shared.ovsdb);
  Unplug(ovs, shared, plug, attachment, deadline);
}

/// One Connect: what it needs at hand, and what it may have to undo.
class HybridWiring {
 public:
  HybridWiring(const BindingConfig& config, Shared& shared, const PlugRequest& request)
      : config_(config),
        shared_(shared),
        plug_(request.plug),
        attachment_(request.attachment),
        mark_(LinkMark{request.attachment}.ToString()),
        pod_(request.pod),
        is_default_(request.is_default),
        deadline_(request.deadline.AtMost(config.ovs_timeout)),
        inside_(RouteSocket::OpenIn(request.pod)),
        ovs_(config.ovsdb_connection, &shared.ovsdb, config.ovsdb_wait) {}

  std::vector<Interface> Make(const vif::VifBridge& vif) {
    const OvsPort port = PortFor(vif, plug_, PortOf(plug_), attachment_, config_);
    const uint32_t mtu = MtuOnBridge(host_, plug_.bridge, vif, config_.network_device_mtu);
    // With OVS down nothing is touched.
    ovs_.Connect(deadline_);
    RequireFree(inside_, plug_.ifname);
    RemoveLeftovers();

    Rollback undo([this] { Undo(); });
    const Link bridge = MakeBridge();
    LinkToOpenVSwitch(bridge, mtu);
    added_ = AddPort(ovs_, port, vif, config_, deadline_);
    if (added_.datapath_type == kUserspaceDatapath)
      host_.MakeChecksums(Find(host_, BridgeEndOf(plug_)));
    // ovs-vswitchd is at work; meanwhile the pod's side.
    LinkToPod(bridge, *vif.address, mtu);
    ConfigureL3(pod_, plug_.ifname, vif, is_default_);
    ovs_.WaitUntilUp(port, added_, deadline_);
    const Link port_end = Find(host_, port.name);
    // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
    if (!port_end.up) host_.SetUp(port_end);
    std::vector<Interface> interfaces = {Describe(Find(host_, plug_.host_interface), false),
                                         Describe(Find(inside_, plug_.ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

 private:
  /// Throws HostInterfaceInUse for what is neither ours nor a leftover.
  void RemoveLeftovers() {
    std::optional<Attachment> older;
    bool unfinished = false;
    for (const std::string& name :
         {plug_.host_interface, plug_.device, BridgeEndOf(plug_), PortOf(plug_)}) {
      const auto link = FindOnceReplaced(host_, name, attachment_, deadline_);
      if (!link) continue;
      if (IsOlderSandboxs(plug_, *link, attachment_)) {
        older = LinkMark::Parse(link->alias)->attachment;
      } else if (IsUnfinished(host_, plug_, *link)) {
        unfinished = true;
      } else {
        ThrowInUse(*link);
      }
    }
    if (older) Unplug(ovs_, shared_, plug_, *older, deadline_);
    if (unfinished) Unplug(ovs_, shared_, plug_, attachment_, deadline_);
  }

  Link MakeBridge() {
    if (!host_.CreateHub(plug_.device))
      throw HostInterfaceInUse("bridge " + plug_.device + " was made by somebody else just now");
    const Link bridge = Find(host_, plug_.device);
    Silence(bridge.name);
    host_.SetAliasAndUp(bridge, mark_);
    return bridge;
  }

  void LinkToOpenVSwitch(const Link& bridge, uint32_t mtu) {
    host_.CreateVeth({.name = BridgeEndOf(plug_),
                      .peer_name = PortOf(plug_),
                      .mtu = mtu,
                      .master = bridge.index});
    for (const std::string& name : {BridgeEndOf(plug_), PortOf(plug_)})
      SetUpHostEnd(host_, name, mark_);
  }

  void LinkToPod(const Link& bridge, const MacAddress& mac, uint32_t mtu) {
    host_.CreateVeth({.name = plug_.host_interface,
                      .peer_name = plug_.ifname,
                      .peer_netns_fd = pod_.fd(),
                      .peer_mac = mac,
                      .mtu = mtu,
                      .master = bridge.index});
    SetUpHostEnd(host_, plug_.host_interface, mark_);
    inside_.SetUp(Find(inside_, plug_.ifname));
  }

  void Undo() noexcept {
    const Deadline deadline = Deadline::After(kRollbackTime);
    TryUndo(plug_.host_interface,
            [&] { UnplugAtOnce(config_, shared_, plug_, attachment_, deadline); });
    TryUndo(plug_.host_interface, [&] {
      if (added_.created_bridge) ovs_.DeleteEmptyBridge(*added_.created_bridge, deadline);
    });
  }

  const BindingConfig& config_;
  Shared& shared_;
  const Plug& plug_;
  const Attachment& attachment_;
  const std::string mark_;
  const Netns& pod_;
  const bool is_default_;
  const Deadline deadline_;
  RouteSocket host_;
  RouteSocket inside_;
  OpenVSwitch ovs_;
  AddedPort added_;
};

}  // namespace

HybridDriver::HybridDriver(BindingConfig config, Shared& shared)
    : config_(std::move(config)), shared_(shared) {}

Plug HybridDriver::Plan(const vif::Vif& vif, const std::string& ifname) const {
  const auto& own = OwnVif<vif::VifBridge>(vif, "hybrid");
  const std::string plugin = own.plugin.value_or("");
  if (plugin != "ovs") throw UnsupportedVif("VIFBridge with plugin \"" + Printable(plugin) + "\"");
  (void)vif::Required(own.address, "$.address");
  (void)NeutronPortOf(own);
  const vif::Network& network = vif::Required(own.network, "$.network");
  const std::string bridge = LinkNameOf(own.bridge_name, "$.bridge_name");
  RequireOwnHub(bridge, own.id.value_or(""));
  return {.driver = kName,
          .ifname = ifname,
          .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
          .bridge = LinkNameOf(network.bridge, "$.network.bridge"),
          .device = bridge};
}

std::vector<Interface> HybridDriver::Connect(const PlugRequest& request) {
  return HybridWiring(config_, shared_, request).Make(OwnVif<vif::VifBridge>(request.vif, kName));
}

std::optional<std::string> HybridDriver::Check(const PlugRequest& request) const {
  const auto& [vif, plug, attachment, pod, is_default, deadline] = request;
  const auto& own = OwnVif<vif::VifBridge>(vif, "hybrid");
  RouteSocket host;
  const uint32_t mtu = CheckedMtu(own, config_.network_device_mtu);
  const WantedLink hub = {.name = plug.device, .kind = "bridge"};
  if (auto difference = CheckLink(host, hub, attachment)) return difference;
  const int master = Find(host, plug.device).index;
  const WantedLink tap = {
      .name = plug.host_interface, .kind = "veth", .mtu = mtu, .master = master};
  if (auto difference = CheckLink(host, tap, attachment)) return difference;
  const OvsPort port = PortFor(own, plug, PortOf(plug), attachment, config_);
  const WantedLink port_end = {.name = port.name, .kind = "veth", .mtu = mtu};
  if (auto difference = CheckLink(host, port_end, attachment)) return difference;
  OpenVSwitch ovs(config_.ovsdb_connection, &shared_.ovsdb);
  const auto state = ovs.FindPortState(port.name, deadline.AtMost(config_.ovs_timeout));
  if (auto difference = CheckPort(state, port, config_)) return difference;
  const WantedLink bridge_end = {.name = BridgeEndOf(plug),
                                 .kind = "veth",
                                 .mtu = mtu,
                                 .master = master,
                                 .makes_checksums = state->datapath_type == kUserspaceDatapath};
  if (auto difference = CheckLink(host, bridge_end, attachment)) return difference;
  const WantedLink pod_end = {
      .name = plug.ifname, .kind = "veth", .mac = *own.address, .mtu = mtu, .marked = false};
  return CheckPodLink(pod, pod_end, attachment, own, is_default);
}

void HybridDriver::Disconnect(const Plug& plug, const Attachment& attachment,
                              const Deadline& deadline) {
  UnplugAtOnce(config_, shared_, plug, attachment, deadline.AtMost(config_.ovs_timeout));
}

}  // namespace kuryr::binding
