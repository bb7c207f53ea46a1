#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "base/rollback.h"
#include "binding/devices/pod_folder.h"
#include "binding/drivers/drivers.h"
#include "binding/interfaces.h"
#include "binding/neutron_port.h"
#include "binding/owner.h"
#include "binding/parts/port_session.h"
#include "binding/try_all.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMountPoint = "[vhostuser] mount_point";
constexpr const char* kSwitchFolder = "[vhostuser] ovs_vhu_path";
/// Types of Open vSwitch's interfaces: ovs-vswitchd listens, ovs-vswitchd connects.
constexpr const char* kListening = "dpdkvhostuser";
constexpr const char* kConnecting = "dpdkvhostuserclient";

/// It becomes a file's name next to the switch's own sockets.
bool IsPortName(const std::string& name) { return IsLinkName(name) && name.starts_with("vhu"); }

/// os-vif's name for it; objects before 1.1 have none.
std::string PortNameOf(const vif::VifVHostUser& vif) {
  if (!vif.vif_name.is_set())
    return LinkNameOf(("vhu" + vif::Required(vif.id, "$.id")).substr(0, 14), "$.id");
  const std::string name = LinkNameOf(vif.vif_name, "$.vif_name");
  if (!IsPortName(name))
    throw ParseError("$.vif_name", "\"" + Printable(name) + "\" does not begin with \"vhu\"");
  return name;
}

/// The one place a socket may have, however the path is written. Neutron's is
/// MOUNT_POINT/PORT_NAME; of a client's the original took it for the folder.
fs::path SocketOf(const vif::VifVHostUser& vif, const fs::path& mount_point,
                  const std::string& port_name) {
  const fs::path socket = mount_point / port_name;
  const std::string& path = vif::Required(vif.path, "$.path");
  const bool as_folder = vif.mode.value() == vif::VHostUserMode::kClient && path == mount_point;
  if (path != socket && !as_folder) {
    throw ParseError("$.path", "\"" + Printable(path) + "\" is not " + socket.string() + ", as " +
                                   kMountPoint + " and the port's name want it");
  }
  return socket;
}

/// What the application reads.
std::string ConfigTextFor(const Planned& planned) {
  const bool is_client = planned.port->type == kListening;
  return nlohmann::json{{"vhostname", planned.port->name},
                        {"vhostmac", planned.mac.ToString()},
                        {"mode", is_client ? "client" : "server"}}
      .dump();
}

void TakeSwitchsSocket(const BindingConfig& config, const PodFolder& folder,
                       const std::string& name) {
  const PodFolder switches(config.ovs_vhu_path, kSwitchFolder);
  if (!switches.HasSocket(name)) {
    ThrowErrno(ENOENT, "find socket " + (switches.path() / name).string() + " (" + kSwitchFolder +
                           " has to be ovs-vswitchd's run directory, or its "
                           "other_config:vhost-sock-dir)");
  }
  folder.TakeSocket(switches, name);
}

/// Or else the pod's second VIF would replace the first one's port, as if that were left over.
void RequireNotOwn(const PortState& state, const OvsPort& port, const Attachment& attachment) {
  if (!Includes(state.external_ids, OwnerIds(attachment))) return;
  const std::string ifname = PlugOf({.external_ids = state.external_ids}).ifname;
  if (ifname != PlugOf(port).ifname)
    throw HostInterfaceInUse("port " + port.name + " is the pod's interface " + Printable(ifname));
}

/// Frees the port's path. A socket without a port is an application's that no plug of ours has
/// made, and ovs-vswitchd would connect the pod's port to it.
void TakePath(PortSession& session, const PodFolder& folder, const OvsPort& port,
              const Attachment& attachment) {
  const auto state = session.ovs().FindPortState(port.name, session.deadline());
  if (state) RequireNotOwn(*state, port, attachment);
  // Add refuses it, and what has its path is its pod's affair.
  if (state && !MayReplace(*state, port)) return;
  // ovs-vswitchd would follow a symbolic link, which any pod with the folder may have laid there.
  folder.RemoveOther(port.name);
  if (!state && folder.HasListener(port.name)) {
    throw HostInterfaceInUse("socket " + (folder.path() / port.name).string() +
                             " is in use: somebody listens on it, and no port has its name");
  }
}

/// A plug that Plan has made. Where the record is lost, a port's external_ids say it, and whoever
/// writes those could name any socket of the node.
bool IsPlanned(const Plug& plug, const fs::path& mount_point) {
  return IsPortName(plug.host_interface) && plug.device == mount_point / plug.host_interface;
}

std::optional<PodFolder> FolderOf(const Plug& plug, const BindingConfig& config) {
  if (IsPlanned(plug, config.vhostuser_mount_point))
    return PodFolder::OpenIfExists(config.vhostuser_mount_point);
  Log(LogLevel::kWarning, "what is no vhost-user socket of this node's folder is left alone",
      {{"path", plug.device}, {"folder", config.vhostuser_mount_point.string()}});
  return std::nullopt;
}

class VhostUserDriver final : public Driver {
 public:
  explicit VhostUserDriver(DriverContext context) : context_(std::move(context)) {
    // DPDK's ports need the userspace datapath, and the kernel's queues know nothing of them.
    context_.config.datapath_type = kUserspaceDatapath;
    context_.config.default_qos_type.clear();
  }

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifVHostUser>(vif, kVhostUserDriver);
    RequireNoRepresentor(vif);
    (void)vif::Required(own.mode, "$.mode");
    const std::string name = PortNameOf(own);
    return {
        .driver = kVhostUserDriver,
        .ifname = ifname,
        .host_interface = name,
        .bridge = LinkNameOf(vif::Required(own.network, "$.network").bridge, "$.network.bridge"),
        .device = SocketOf(own, config().vhostuser_mount_point, name)};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    const auto& own = OwnVif<vif::VifVHostUser>(vif.vif, kVhostUserDriver);
    Planned planned = PlanCommon(vif, plug, config());
    PlanPort(own, plug, plug.host_interface, config(), planned);
    planned.port->type = kListening;
    if (vif::Required(own.mode, "$.mode") == vif::VHostUserMode::kServer) {
      planned.port->type = kConnecting;
      planned.port->options["vhost-server-path"] = plug.device;
    }
    return planned;
  }

  std::vector<Interface> Connect(const PlugRequest& request) override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    const PodFolder folder(config().vhostuser_mount_point, kMountPoint);
    const std::string file = PodFolder::FileOf(attachment, plug.ifname);
    OvsPort port = OwnedPort(planned, attachment);
    RouteSocket host;
    port.mtu_request = MtuOnBridge(host, planned);
    PortSession session = PortSession::Patient(context_, deadline);
    session.Connect();
    TakePath(session, folder, port, attachment);

    Rollback undo([&] {
      session.Undo(port.name, [&](const Deadline& time_to_undo) {
        Disconnect(plug, attachment, time_to_undo);
      });
    });
    session.Add(port, planned.datapath_type);
    session.JoinMirrors();
    folder.RemoveSocket(port.name);  // of an older sandbox; the name is ours with the port
    folder.Write(file, ConfigTextFor(planned));
    // The socket is there before the port has its number.
    session.WaitUntilUp();
    if (port.type == kListening) TakeSwitchsSocket(config(), folder, port.name);
    undo.Dismiss();
    return {{.name = plug.ifname, .mac = planned.mac, .mtu = *port.mtu_request, .in_pod = true}};
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    const OvsPort port = OwnedPort(planned, attachment);
    if (auto difference = PortSession::AtOnce(context_, deadline).Check(port)) return difference;
    const auto folder = PodFolder::OpenIfExists(config().vhostuser_mount_point);
    if (!folder) return "folder " + config().vhostuser_mount_point.string() + " is missing";
    const std::string file = PodFolder::FileOf(attachment, plug.ifname);
    const auto text = folder->Read(file);
    if (!text) return "file " + (folder->path() / file).string() + " is missing";
    if (*text != ConfigTextFor(planned))
      return "file " + (folder->path() / file).string() + " has other contents";
    if (port.type != kListening) return std::nullopt;  // the application's own
    if (!folder->HasSocket(port.name)) return "socket " + plug.device + " is missing";
    const auto switches = PodFolder::OpenIfExists(config().ovs_vhu_path);
    if (switches && switches->HasSocket(port.name)) {
      return "socket " + plug.device + " is dead: ovs-vswitchd was restarted, and listens on " +
             (switches->path() / port.name).string();
    }
    return std::nullopt;
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& deadline) override {
    PortSession session = PortSession::AtOnce(context_, deadline);
    // Without the folder the port stays, too: who finds the socket later would not know whose it
    // is.
    const auto folder = FolderOf(plug, config());
    TryAll steps;
    steps.Try([&] {
      if (folder) folder->Remove(PodFolder::FileOf(attachment, plug.ifname));
    });
    steps.Try([&] {
      // The socket goes first: as long as the port is ours, its name is.
      session.ovs().DeletePort(
          plug.host_interface, OwnerIds(attachment), session.deadline(), [&](bool is_there) {
            if (folder && (is_there || !folder->HasListener(plug.host_interface)))
              folder->RemoveSocket(plug.host_interface);
          });
    });
    steps.Finish();
  }

 private:
  [[nodiscard]] const BindingConfig& config() const noexcept { return context_.config; }

  DriverContext context_;
};

}  // namespace

std::unique_ptr<Driver> NewVhostUserDriver(const DriverContext& context) {
  return std::make_unique<VhostUserDriver>(context);
}

}  // namespace kuryr::binding
