#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/check.h"
#include "binding/drivers/drivers.h"
#include "binding/drivers/port_session.h"
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

void Unplug(PortSession& session, Shared& shared, const std::string& host_interface,
            const Attachment& attachment) {
  Steps steps;
  steps.Try([&] { session.Remove(host_interface, OwnerIds(attachment)); });
  steps.Try([&] {
    RouteSocket host;
    DeleteOwnVeth(host, shared.links, host_interface, attachment);
  });
  steps.Finish();
}

/// One Connect: what it needs at hand, and what it may have to undo.
class Wiring {
 public:
  Wiring(const DriverParts& parts, const PlugRequest& request)
      : parts_(parts),
        request_(request),
        tap_(request.plug.host_interface),
        inside_(RouteSocket::OpenIn(request.pod)),
        session_(PortSession::Patient(parts, request.deadline)) {}

  std::vector<Interface> Make(const vif::VifOpenVSwitch& vif) {
    const auto& [_, plug, attachment, pod, is_default, deadline] = request_;
    const OvsPort port = PortFor(vif, plug, tap_, attachment, parts_.config);
    session_.Connect();
    RequireFree(inside_, plug.ifname);
    RemoveLeftover();

    // Before the act: its answer may be lost.
    Rollback undo([this] { Undo(); });
    host_.CreateVeth({.name = tap_,
                      .peer_name = plug.ifname,
                      .peer_netns_fd = pod.fd(),
                      .peer_mac = *vif.address,
                      .mtu = MtuOnBridge(host_, plug.bridge, vif, parts_.config.network_device_mtu),
                      .group = BirthGroup(attachment)});
    SetUpHostEnd(host_, tap_, LinkMark{attachment}.ToString());
    session_.Add(port, vif);
    // ovs-vswitchd is at work; meanwhile the pod's side.
    const Link pod_end = Find(inside_, plug.ifname);
    if (session_.IsUserspace()) inside_.MakeChecksums(pod_end);
    inside_.SetUp(pod_end);
    ConfigureL3(pod, plug.ifname, vif, is_default);
    session_.WaitUntilUp();
    const Link host_end = Find(host_, tap_);
    // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
    if (!host_end.up) host_.SetUp(host_end);
    std::vector<Interface> interfaces = {Describe(host_end, false),
                                         Describe(Find(inside_, plug.ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

 private:
  void RemoveLeftover() {
    const Attachment& own = request_.attachment;
    const auto link = FindOnceReplaced(host_, tap_, own, session_.deadline());
    if (!link) return;
    if (!IsLeftoverVeth(*link, own)) ThrowInUse(*link);
    const auto mark = LinkMark::Parse(link->alias);
    Unplug(session_, parts_.shared, tap_, mark ? mark->attachment : own);
  }

  void Undo() noexcept {
    session_.Undo(tap_, [this](PortSession& session) {
      Unplug(session, parts_.shared, tap_, request_.attachment);
    });
  }

  const DriverParts& parts_;
  const PlugRequest& request_;
  const std::string& tap_;  ///< the plug's host_interface, and the port
  RouteSocket host_;
  RouteSocket inside_;
  PortSession session_;
};

class OvsDriver final : public Driver {
 public:
  explicit OvsDriver(DriverParts parts) : parts_(std::move(parts)) {
    const BindingConfig& config = parts_.config;
    if (config.ovsdb_connection.starts_with("ssl:"))
      OvsdbClient::UseTls(config.ssl_key_file, config.ssl_cert_file, config.ssl_ca_cert_file);
  }

  [[nodiscard]] Plug Plan(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifOpenVSwitch>(vif, kOvsDriver);
    (void)vif::Required(own.address, "$.address");
    RequireNoRepresentor(vif);
    (void)NeutronPortOf(own);
    return {.driver = kOvsDriver,
            .ifname = ifname,
            .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
            .bridge = BridgeOf(own.bridge_name, own)};
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    return Wiring(parts_, request).Make(OwnVif<vif::VifOpenVSwitch>(request.vif, kOvsDriver));
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [vif, plug, attachment, pod, is_default, deadline] = request;
    const auto& own = OwnVif<vif::VifOpenVSwitch>(vif, kOvsDriver);
    RouteSocket host;
    const uint32_t mtu = CheckedMtu(own, parts_.config.network_device_mtu);
    const WantedLink host_end = {.name = plug.host_interface, .kind = "veth", .mtu = mtu};
    if (auto difference = CheckLink(host, host_end, attachment)) return difference;
    PortSession session = PortSession::AtOnce(parts_, deadline);
    const OvsPort port = PortFor(own, plug, plug.host_interface, attachment, parts_.config);
    if (auto difference = session.Check(port)) return difference;
    const WantedLink pod_end = {.name = plug.ifname,
                                .kind = "veth",
                                .mac = *own.address,
                                .mtu = mtu,
                                .marked = false,
                                .makes_checksums = session.IsUserspace()};
    return CheckPodLink(pod, pod_end, attachment, own, is_default);
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override {
    PortSession session = PortSession::AtOnce(parts_, deadline);
    Unplug(session, parts_.shared, plug.host_interface, attachment);
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& deadline) const override {
    std::vector<Plug> plugs;
    for (FoundPlug& found : PortSession::AtOnce(parts_, deadline).FindPlugs(OwnerIds(attachment)))
      plugs.push_back(std::move(found.plug));
    return plugs;
  }

  [[nodiscard]] std::vector<FoundPlug> FindPlugsOf(const std::string& network,
                                                   const Deadline& deadline) const override {
    return PortSession::AtOnce(parts_, deadline).FindPlugs({{OpenVSwitch::kNetwork, network}});
  }

 private:
  DriverParts parts_;
};

}  // namespace

std::unique_ptr<Driver> NewOvsDriver(const DriverParts& parts) {
  return std::make_unique<OvsDriver>(parts);
}

}  // namespace kuryr::binding
