#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binding/drivers/drivers.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "binding/links/veth.h"
#include "binding/node/provided_bridge.h"
#include "binding/parts/driver.h"
#include "binding/parts/pod_link_part.h"
#include "binding/parts/veth_part.h"
#include "binding/plan/vif_fields.h"

namespace kuryr::binding {
namespace {

/// Whether os-vif would give this name to the bridge of one hybrid port: "qbr" and the beginning of
/// the port's id.
bool IsHybridName(std::string_view bridge) {
  constexpr size_t kDigits = 8;
  if (!bridge.starts_with("qbr")) return false;
  const std::string_view id = bridge.substr(3);
  const std::string_view digits = id.substr(0, kDigits);
  return id.size() > kDigits && id[kDigits] == '-' &&
         std::all_of(digits.begin(), digits.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Throws UnsupportedVif for a single port's own bridge: its members see that port's packets.
std::string SharedBridgeOf(const vif::VifBridge& vif) {
  std::string bridge = BridgeOf(vif.bridge_name, vif);
  if (IsHybridName(bridge)) {
    throw UnsupportedVif("VIFBridge with plugin \"linux_bridge\" on " + bridge +
                         ", which is the name of a single port's own bridge");
  }
  return bridge;
}

/// The bridge of the node, which stays after the last pod.
class SharedBridgePart final : public Part {
 public:
  using Part::Part;

  void Require() override { provided_.emplace(site().host(), site().planned(), site().config()); }
  void Check(Differences& found) override {
    const std::string& name = site().plug().bridge;
    link_ = site().host().FindLink(name);
    if (link_) return;
    found.push_back({.kind = DifferenceKind::kBridge,
                     .what = name,
                     .expected = name,
                     .text = "bridge " + name + " is missing"});
  }
  void Make() override {
    provided_->Provide();
    link_ = provided_->link();
  }
  void Undo() override {
    // The bridge is removed only without the pod's port.
    site().RemoveLinks();
    provided_->Remove();
  }

  /// After Check or Make; nullopt for a bridge that is missing.
  [[nodiscard]] const std::optional<Link>& link() const noexcept { return link_; }

 private:
  std::optional<ProvidedBridge> provided_;
  std::optional<Link> link_;
};

class BridgeDriver final : public Driver {
 public:
  explicit BridgeDriver(DriverContext context) : Driver(std::move(context)) {}

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

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    Parts parts;
    const auto& bridge = Add<SharedBridgePart>(parts, site);
    Add<VethPart>(parts, site,
                  VethSettings{.bridge = &bridge.link(),
                               .hairpin = context_.config.hairpin == HairpinMode::kHairpinVeth});
    Add<PodLinkPart>(parts, site, PodLinkSettings{.kind = "veth", .marked = true});
    Add<Layer3Part>(parts, site);
    return parts;
  }
};

}  // namespace

std::unique_ptr<Driver> NewBridgeDriver(const DriverContext& context) {
  return std::make_unique<BridgeDriver>(context);
}

}  // namespace kuryr::binding
