#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/check.h"
#include "binding/drivers/drivers.h"
#include "binding/host_link.h"
#include "binding/interfaces.h"
#include "binding/l3.h"
#include "binding/link_mark.h"
#include "binding/neutron_port.h"
#include "binding/parts/port_session.h"
#include "binding/try_all.h"
#include "binding/veth.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

/// One Connect: what it needs at hand, and what it may have to undo.
class Wiring {
 public:
  Wiring(Driver& driver, const DriverContext& context, const PlugRequest& request)
      : driver_(driver),
        context_(context),
        request_(request),
        tap_(request.planned.plug.host_interface),
        inside_(RouteSocket::OpenIn(request.pod)),
        session_(PortSession::Patient(context, request.deadline)) {}

  std::vector<Interface> Make() {
    const auto& [planned, attachment, pod, deadline] = request_;
    const std::string& ifname = planned.plug.ifname;
    session_.Connect();
    RequireFree(inside_, ifname);
    RemoveLeftover();
    session_.WaitUntilLetGo(tap_);

    // Before the act: its answer may be lost.
    Rollback undo([this] { Undo(); });
    MakeVeth();
    session_.Add(OwnedPort(planned, attachment), planned.datapath_type);
    // ovs-vswitchd is at work; meanwhile the pod's side.
    const Link pod_end = GlanceAt(inside_, ifname);
    if (session_.IsUserspace()) inside_.MakeChecksums(pod_end);
    inside_.SetUp(pod_end);
    ConfigureL3(pod, ifname, planned.l3);
    session_.WaitUntilUp();
    const Link host_end = GlanceAt(host_, tap_);
    // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
    if (!host_end.up) host_.SetUp(host_end);
    std::vector<Interface> interfaces = {Describe(host_end, false),
                                         Describe(GlanceAt(inside_, ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

 private:
  void MakeVeth() {
    const MutexLock turn(context_.shared.making_links);
    host_.CreateVeth({.name = tap_,
                      .peer_name = request_.planned.plug.ifname,
                      .peer_netns_fd = request_.pod.fd(),
                      .peer_mac = request_.planned.mac,
                      .mtu = MtuOnBridge(host_, request_.planned),
                      .group = BirthGroup(request_.attachment)});
    SetUpHostEnd(host_, tap_, LinkMark{request_.attachment}.ToString());
  }

  void RemoveLeftover() {
    const Attachment& own = request_.attachment;
    const auto link = FindOnceReplaced(host_, tap_, own, session_.deadline());
    if (!link) return;
    if (!IsLeftoverVeth(*link, own)) ThrowInUse(*link);
    const auto mark = LinkMark::Parse(link->alias);
    const Attachment& older = mark ? mark->attachment : own;
    session_.ovs().DeletePort(tap_, OwnerIds(older), session_.deadline());
    DeleteOwnVeth(host_, context_.shared.links, tap_, older);
  }

  void Undo() noexcept {
    session_.Undo(tap_, [this](const Deadline& deadline) {
      driver_.Disconnect(request_.planned.plug, request_.attachment, deadline);
    });
  }

  Driver& driver_;
  const DriverContext& context_;
  const PlugRequest& request_;
  const std::string& tap_;  ///< the plug's host_interface, and the port
  RouteSocket host_;
  RouteSocket inside_;
  PortSession session_;
};

class OvsDriver final : public Driver {
 public:
  explicit OvsDriver(DriverContext context) : context_(std::move(context)) {
    const BindingConfig& config = context_.config;
    if (config.ovsdb_connection.starts_with("ssl:"))
      OvsdbClient::UseTls(config.ssl_key_file, config.ssl_cert_file, config.ssl_ca_cert_file);
  }

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifOpenVSwitch>(vif, kOvsDriver);
    RequireNoRepresentor(vif);
    return {.driver = kOvsDriver,
            .ifname = ifname,
            .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
            .bridge = BridgeOf(own.bridge_name, own)};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    Planned planned = PlanCommon(vif, plug, context_.config);
    PlanPort(Common(vif.vif), plug, plug.host_interface, context_.config, planned);
    return planned;
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    return Wiring(*this, context_, request).Make();
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [planned, attachment, pod, deadline] = request;
    RouteSocket host;
    const WantedLink host_end = {
        .name = planned.plug.host_interface, .kind = "veth", .mtu = planned.mtu.Checked()};
    if (auto difference = CheckLink(host, host_end, attachment)) return difference;
    PortSession session = PortSession::AtOnce(context_, deadline);
    if (auto difference = session.Check(OwnedPort(planned, attachment))) return difference;
    return CheckPodLink(
        request, {.kind = "veth", .marked = false, .makes_checksums = session.IsUserspace()});
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override {
    PortSession session = PortSession::AtOnce(context_, deadline);
    const std::string& tap = plug.host_interface;
    TryAll steps;
    steps.Try([&] { session.ovs().DeletePort(tap, OwnerIds(attachment), session.deadline()); });
    steps.Try([&] {
      RouteSocket host;
      DeleteOwnVeth(host, context_.shared.links, tap, attachment);
    });
    steps.Finish();
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override {
    std::vector<Plug> plugs;
    for (FoundPlug& found : PortSession::AtOnce(context_, deadline).FindPlugs(OwnerIds(attachment)))
      plugs.push_back(std::move(found.plug));
    return plugs;
  }

  [[nodiscard]] std::vector<FoundPlug> FindPlugsOf(const std::string& network,
                                                   const Deadline& deadline) const override {
    return PortSession::AtOnce(context_, deadline).FindPlugs({{OpenVSwitch::kNetwork, network}});
  }

 private:
  DriverContext context_;
};

}  // namespace

std::unique_ptr<Driver> NewOvsDriver(const DriverContext& context) {
  return std::make_unique<OvsDriver>(context);
}

}  // namespace kuryr::binding
