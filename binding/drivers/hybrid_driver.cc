#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "binding/drivers/drivers.h"
#include "binding/links/host_link.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/links/owner.h"
#include "binding/links/veth.h"
#include "binding/netlink/link_watch.h"
#include "binding/parts/driver.h"
#include "binding/parts/link_check.h"
#include "binding/parts/pod_link_part.h"
#include "binding/parts/port_part.h"
#include "binding/parts/veth_part.h"
#include "binding/plan/neutron_port.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

constexpr const char* kBridgePrefix = "qbr";
constexpr const char* kBridgeEndPrefix = "qvb";
constexpr const char* kPortPrefix = "qvo";
constexpr size_t kPrefixLength = 3;

/// All links on the host are named after the hub, which Plug::device names.
std::string Renamed(const char* prefix, const std::string& name) {
  return prefix + name.substr(std::min(kPrefixLength, name.size()));
}
std::string BridgeEndOf(const Plug& plug) { return Renamed(kBridgeEndPrefix, plug.device); }
std::string PortOf(const Plug& plug) { return Renamed(kPortPrefix, plug.device); }

/// The hub is made and removed with the pod, so it must be no other bridge of the node. os-vif
/// names it after the port's UUID.
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

/// The pod's own bridge "qbr…": the firewall's rules stand on it.
class HubPart final : public Part {
 public:
  using Part::Part;

  void Clear() override {
    const auto link =
        FindOnceReplaced(site().host(), name(), site().attachment(), site().deadline());
    if (!link) return;
    // The annotation chooses the name: a bridge without our mark is the node's, however unfinished
    // it looks.
    if (link->kind != kBridge || !IsLeftover(OwnerOf(*link, site().attachment())))
      ThrowInUse(*link);
    site().NoteLeftover(*link);
  }
  void Check(Differences& found) override {
    link_ = CheckLink(site().host(), Wanted(), site().attachment(), found);
  }
  void Make() override {
    RouteSocket& host = site().host();
    if (link_) return MendLink(host, *link_, Wanted(), site().attachment());
    const MutexLock turn(site().shared().making_links);
    if (!host.CreateHub(name(), BirthGroup(site().attachment())))
      throw HostInterfaceInUse("bridge " + name() + " was made by somebody else just now");
    link_ = Find(host, name());
    Silence(name());
    MarkAndSetUp(host, *link_, LinkMark{site().attachment()}.ToString());
  }
  void Remove(const Attachment& owner) override {
    const auto link = site().host().FindLink(name());
    if (link && link->kind == kBridge && IsOwn(OwnerOf(*link, owner))) site().Discard(*link);
  }

  /// After Check or Make; nullopt for a hub that is missing.
  [[nodiscard]] const std::optional<Link>& link() const noexcept { return link_; }

 private:
  static constexpr const char* kBridge = "bridge";

  [[nodiscard]] const std::string& name() const noexcept { return site().plug().device; }
  [[nodiscard]] WantedLink Wanted() const {
    return {.name = name(), .kind = kBridge, .is_mendable = true, .is_replaceable = true};
  }

  std::optional<Link> link_;
};

/// The veth pair from the hub, "qvb…", to Open vSwitch, "qvo…". This part compares "qvo…" alone.
class PatchPart final : public Part {
 public:
  PatchPart(PlugSite& site, const std::optional<Link>& hub) : Part(site), hub_(hub) {}

  void Clear() override {
    for (const std::string& name : {BridgeEndOf(site().plug()), PortOf(site().plug())})
      ClearVeth(site(), name);
  }
  void Check(Differences& found) override {
    port_end_ = CheckLink(site().host(), Wanted(), site().attachment(), found);
    is_checked_ = true;
  }
  void Make() override {
    if (port_end_) return MendLink(site().host(), *port_end_, Wanted(), site().attachment());
    if (is_checked_) LetGoOfPort();
    const MutexLock turn(site().shared().making_links);
    RouteSocket& host = site().host();
    host.CreateVeth({.name = BridgeEndOf(site().plug()),
                     .peer_name = PortOf(site().plug()),
                     .mtu = MtuOnBridge(host, site().planned()),
                     .master = hub_.value().index,
                     .group = BirthGroup(site().attachment())});
    for (const std::string& name : {BridgeEndOf(site().plug()), PortOf(site().plug())})
      SetUpHostEnd(host, name, LinkMark{site().attachment()}.ToString());
  }
  void Remove(const Attachment& owner) override {
    DiscardVeth(site(), PortOf(site().plug()), owner);
  }

 private:
  [[nodiscard]] WantedLink Wanted() const {
    return {.name = PortOf(site().plug()),
            .kind = "veth",
            .mtu = site().planned().mtu.Checked(),
            .is_mendable = true,
            .is_replaceable = true};
  }

  /// ovs-vswitchd would stay with the device that is gone. PortPart makes the port anew.
  void LetGoOfPort() {
    PortSession& session = site().session();
    const std::string port = PortOf(site().plug());
    session.ovs().DeletePort(port, OwnerIds(site().attachment()), session.deadline());
    session.WaitUntilLetGo(port);
  }

  const std::optional<Link>& hub_;
  bool is_checked_ = false;
  std::optional<Link> port_end_;  ///< found by Check
};

/// The hub's end of PatchPart's pair. It comes after the port, which knows the bridge's datapath.
class BridgeEndPart final : public Part {
 public:
  BridgeEndPart(PlugSite& site, const std::optional<Link>& hub) : Part(site), hub_(hub) {}

  void Check(Differences& found) override {
    link_ = CheckLink(site().host(), Wanted(), site().attachment(), found);
  }
  void Make() override {
    RouteSocket& host = site().host();
    if (link_) MendLink(host, *link_, Wanted(), site().attachment());
    if (site().session().IsUserspace())
      host.MakeChecksums(GlanceAt(host, BridgeEndOf(site().plug())));
  }
  [[nodiscard]] std::optional<Interface> Await() override {
    RouteSocket& host = site().host();
    (void)WaitUntilRunning(host, Find(host, BridgeEndOf(site().plug())),
                           site().deadline().AtMost(kCarrierTime));
    return std::nullopt;
  }

 private:
  [[nodiscard]] WantedLink Wanted() {
    WantedLink wanted = {.name = BridgeEndOf(site().plug()),
                         .kind = "veth",
                         .mtu = site().planned().mtu.Checked(),
                         .makes_checksums = site().session().IsUserspace(),
                         .is_mendable = true};
    if (hub_) wanted.master = hub_->index;
    return wanted;
  }

  const std::optional<Link>& hub_;
  std::optional<Link> link_;  ///< found by Check
};

class HybridDriver final : public Driver {
 public:
  explicit HybridDriver(DriverContext context) : Driver(std::move(context)) {}

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

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    const std::string port = PortOf(site.plug());
    Parts parts;
    // The pod's link is no port, and may be named like one that was: ovs-vswitchd sets that down by
    // name.
    Add<PortNamePart>(parts, site, std::vector{site.plug().host_interface, port});
    const auto& hub = Add<HubPart>(parts, site).link();
    Add<PatchPart>(parts, site, hub);
    Add<PortPart>(parts, site, port, PortPart::Shown::kNo);
    Add<BridgeEndPart>(parts, site, hub);
    Add<VethPart>(parts, site, VethSettings{.bridge = &hub});
    Add<PodLinkPart>(parts, site, PodLinkSettings{.kind = "veth"});
    Add<Layer3Part>(parts, site);
    return parts;
  }
};

}  // namespace

std::vector<std::string> HybridNamesOf(const Plug& plug) {
  return {plug.device, BridgeEndOf(plug), PortOf(plug)};
}

std::unique_ptr<Driver> NewHybridDriver(const DriverContext& context) {
  return std::make_unique<HybridDriver>(context);
}

}  // namespace kuryr::binding
