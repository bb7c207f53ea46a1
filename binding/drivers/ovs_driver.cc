#include "binding/drivers/ovs_driver.h"

#include <chrono>
#include <optional>
#include <system_error>
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

void Unplug(OpenVSwitch& ovs, Shared& shared, const std::string& host_interface,
            const Attachment& attachment, const Deadline& deadline) {
  Steps steps;
  steps.Try([&] { ovs.DeletePort(host_interface, OwnerIds(attachment), deadline); });
  steps.Try([&] {
    RouteSocket host;
    DeleteOwnVeth(host, shared.links, host_interface, attachment);
  });
  steps.Finish();
}

/// Without patience for an ovsdb-server that is down.
void UnplugAtOnce(const BindingConfig& config, Shared& shared, const std::string& host_interface,
                  const Attachment& attachment, const Deadline& deadline) {
  OpenVSwitch ovs(config.ovsdb_connection, &shared.ovsdb);
  Unplug(ovs, shared, host_interface, attachment, deadline);
}

/// One Connect: what it needs at hand, and what it may have to undo.
class Wiring {
 public:
  Wiring(const BindingConfig& config, Shared& shared, const PlugRequest& request)
      : config_(config),
        shared_(shared),
        plug_(request.plug),
        attachment_(request.attachment),
        pod_(request.pod),
        is_default_(request.is_default),
        deadline_(request.deadline.AtMost(config.ovs_timeout)),
        inside_(RouteSocket::OpenIn(request.pod)),
        ovs_(config.ovsdb_connection, &shared.ovsdb, config.ovsdb_wait) {}

  std::vector<Interface> Make(const vif::VifOpenVSwitch& vif) {
    const OvsPort port = PortFor(vif, plug_, plug_.host_interface, attachment_, config_);
    const std::string mark = LinkMark{attachment_}.ToString();
    // With OVS down nothing is touched.
    ovs_.Connect(deadline_);
    RequireFree(inside_, plug_.ifname);
    RemoveLeftover();

    // Before the act: its answer may be lost.
    Rollback undo([this] { Undo(); });
    host_.CreateVeth({.name = plug_.host_interface,
                      .peer_name = plug_.ifname,
                      .peer_netns_fd = pod_.fd(),
                      .peer_mac = *vif.address,
                      .mtu = MtuOnBridge(host_, plug_.bridge, vif, config_.network_device_mtu)});
    SetUpHostEnd(host_, plug_.host_interface, mark);
    added_ = AddPort(ovs_, port, vif, config_, deadline_);
    // ovs-vswitchd is at work; meanwhile the pod's side.
    const Link pod_end = Find(inside_, plug_.ifname);
    if (added_.datapath_type == kUserspaceDatapath) inside_.MakeChecksums(pod_end);
    inside_.SetUp(pod_end);
    ConfigureL3(pod_, plug_.ifname, vif, is_default_);
    ovs_.WaitUntilUp(port, added_, deadline_);
    const Link host_end = Find(host_, plug_.host_interface);
    // ovs-vswitchd writes back the flags it remembers of an older device of this name, down.
    if (!host_end.up) host_.SetUp(host_end);
    std::vector<Interface> interfaces = {Describe(host_end, false),
                                         Describe(Find(inside_, plug_.ifname), true)};
    undo.Dismiss();
    return interfaces;
  }

 private:
  void RemoveLeftover() {
    const auto link = FindOnceReplaced(host_, plug_.host_interface, attachment_, deadline_);
    if (!link) return;
    if (!IsLeftoverVeth(*link, attachment_)) ThrowInUse(*link);
    const auto mark = LinkMark::Parse(link->alias);
    const Attachment& owner = mark ? mark->attachment : attachment_;
    Unplug(ovs_, shared_, plug_.host_interface, owner, deadline_);
  }

  void Undo() noexcept {
    const Deadline deadline = Deadline::After(kRollbackTime);
    TryUndo(plug_.host_interface,
            [&] { UnplugAtOnce(config_, shared_, plug_.host_interface, attachment_, deadline); });
    TryUndo(plug_.host_interface, [&] {
      if (added_.created_bridge) ovs_.DeleteEmptyBridge(*added_.created_bridge, deadline);
    });
  }

  const BindingConfig& config_;
  Shared& shared_;
  const Plug& plug_;
  const Attachment& attachment_;
  const Netns& pod_;
  const bool is_default_;
  const Deadline deadline_;
  RouteSocket host_;
  RouteSocket inside_;
  OpenVSwitch ovs_;
  AddedPort added_;
};

}  // namespace

OvsDriver::OvsDriver(BindingConfig config, Shared& shared)
    : config_(std::move(config)), shared_(shared) {
  if (config_.ovsdb_connection.rfind("ssl:", 0) == 0) {
    OvsdbClient::UseTls(config_.ssl_key_file, config_.ssl_cert_file, config_.ssl_ca_cert_file);
  }
}

Plug OvsDriver::Plan(const vif::Vif& vif, const std::string& ifname) const {
  const auto& own = OwnVif<vif::VifOpenVSwitch>(vif, "ovs");
  const std::string plugin = own.plugin.value_or("");
  if (plugin != kName)
    throw UnsupportedVif("VIFOpenVSwitch with plugin \"" + Printable(plugin) + "\"");
  (void)vif::Required(own.address, "$.address");
  if (own.port_profile.has_value() &&
      std::holds_alternative<vif::PortProfileOvsRepresentor>(*own.port_profile)) {
    throw UnsupportedVif("VIFOpenVSwitch with port profile " +
                         std::string(ClassName(*own.port_profile)));
  }
  (void)NeutronPortOf(own);
  return {.driver = kName,
          .ifname = ifname,
          .host_interface = LinkNameOf(own.vif_name, "$.vif_name"),
          .bridge = BridgeOf(own.bridge_name, own)};
}

std::vector<Interface> OvsDriver::Connect(const PlugRequest& request) {
  return Wiring(config_, shared_, request).Make(OwnVif<vif::VifOpenVSwitch>(request.vif, kName));
}

std::optional<std::string> OvsDriver::Check(const PlugRequest& request) const {
  const auto& [vif, plug, attachment, pod, is_default, deadline] = request;
  const auto& own = OwnVif<vif::VifOpenVSwitch>(vif, "ovs");
  RouteSocket host;
  const uint32_t mtu = CheckedMtu(own, config_.network_device_mtu);
  const WantedLink host_end = {.name = plug.host_interface, .kind = "veth", .mtu = mtu};
  if (auto difference = CheckLink(host, host_end, attachment)) return difference;
  OpenVSwitch ovs(config_.ovsdb_connection, &shared_.ovsdb);
  const OvsPort port = PortFor(own, plug, plug.host_interface, attachment, config_);
  const auto state = ovs.FindPortState(port.name, deadline.AtMost(config_.ovs_timeout));
  if (auto difference = CheckPort(state, port, config_)) return difference;
  const WantedLink pod_end = {.name = plug.ifname,
                              .kind = "veth",
                              .mac = *own.address,
                              .mtu = mtu,
                              .marked = false,
                              .makes_checksums = state->datapath_type == kUserspaceDatapath};
  return CheckPodLink(pod, pod_end, attachment, own, is_default);
}

void OvsDriver::Disconnect(const Plug& plug, const Attachment& attachment,
                           const Deadline& deadline) {
  UnplugAtOnce(config_, shared_, plug.host_interface, attachment,
               deadline.AtMost(config_.ovs_timeout));
}

std::vector<Plug> OvsDriver::FindPlugs(const Attachment& attachment,
                                       const Deadline& deadline) const {
  OpenVSwitch ovs(config_.ovsdb_connection, &shared_.ovsdb);
  std::vector<Plug> plugs;
  for (const OvsPort& port :
       ovs.FindPorts(OwnerIds(attachment), deadline.AtMost(config_.ovs_timeout)))
    plugs.push_back(PlugOf(port));
  return plugs;
}

std::vector<FoundPlug> OvsDriver::FindPlugsWith(const ExternalIds& ids,
                                                const Deadline& deadline) const {
  OpenVSwitch ovs(config_.ovsdb_connection, &shared_.ovsdb);
  std::vector<FoundPlug> found;
  for (const OvsPort& port : ovs.FindPorts(ids, deadline.AtMost(config_.ovs_timeout))) {
    if (port.external_ids.contains(OpenVSwitch::kContainerId))
      found.push_back({.attachment = AttachmentOf(port), .plug = PlugOf(port)});
  }
  return found;
}

std::vector<FoundPlug> OvsDriver::FindAllPlugs(const Deadline& deadline) const {
  return FindPlugsWith({}, deadline);
}

std::vector<FoundPlug> OvsDriver::FindPlugsOf(const std::string& network,
                                              const Deadline& deadline) const {
  return FindPlugsWith({{OpenVSwitch::kNetwork, network}}, deadline);
}

std::optional<std::string> OvsDriver::FindProblem(const std::string& bridge,
                                                  const Deadline& deadline) const {
  try {
    OpenVSwitch ovs(config_.ovsdb_connection, &shared_.ovsdb);
    if (!ovs.IsServed(deadline)) return "ovs-vswitchd does not answer (does it run?)";
    if (!ovs.HasBridge(bridge, deadline)) return "bridge " + bridge + " of Open vSwitch is missing";
    return std::nullopt;
  } catch (const std::system_error& e) {
    return e.what();
  }
}

}  // namespace kuryr::binding
