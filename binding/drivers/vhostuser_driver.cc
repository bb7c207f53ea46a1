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
#include "binding/devices/pod_folder.h"
#include "binding/drivers/drivers.h"
#include "binding/links/interfaces.h"
#include "binding/links/owner.h"
#include "binding/parts/driver.h"
#include "binding/parts/port_part.h"
#include "binding/plan/neutron_port.h"
#include "binding/plan/vif_fields.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMountPoint = "[vhostuser] mount_point";
constexpr const char* kSwitchFolder = "[vhostuser] ovs_vhu_path";
/// Types of Open vSwitch's interfaces: ovs-vswitchd listens, ovs-vswitchd connects.
constexpr const char* kListening = "dpdkvhostuser";
constexpr const char* kConnecting = "dpdkvhostuserclient";

/// The name becomes a file's next to the switch's own sockets.
bool IsPortName(const std::string& name) { return IsLinkName(name) && name.starts_with("vhu"); }

/// os-vif's name for the port; objects before 1.1 have none.
std::string PortNameOf(const vif::VifVHostUser& vif) {
  if (!vif.vif_name.is_set())
    return LinkNameOf(("vhu" + vif::Required(vif.id, "$.id")).substr(0, 14), "$.id");
  const std::string name = LinkNameOf(vif.vif_name, "$.vif_name");
  if (!IsPortName(name))
    throw ParseError("$.vif_name", "\"" + Printable(name) + "\" does not begin with \"vhu\"");
  return name;
}

/// The one place a socket may have, however the path is written. Neutron's is
/// MOUNT_POINT/PORT_NAME. For clients kuryr-kubernetes took the path for the folder.
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

/// The file that the application reads.
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

/// Throws for a port of the pod's other VIF, which would be replaced as if it were left over.
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
  // Add refuses the port, and the file at its path is its pod's affair.
  if (state && !MayReplace(*state, port)) return;
  // ovs-vswitchd would follow a symbolic link, which any pod with the folder may have laid there.
  folder.RemoveOther(port.name);
  if (!state && folder.HasListener(port.name)) {
    throw HostInterfaceInUse("socket " + (folder.path() / port.name).string() +
                             " is in use: somebody listens on it, and no port has its name");
  }
}

/// Whether Plan may have made the plug. Where the record is lost, a port's external_ids say the
/// plug, and their writer could name any socket of the node.
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

/// The port with its socket in the mount_point, and the pod's file, which tells the application of
/// both.
class SocketPart final : public PortPart {
 public:
  explicit SocketPart(PlugSite& site)
      : PortPart(site, site.plug().host_interface, Shown::kAsInterface) {}

  void Require() override {
    folder_.emplace(site().config().vhostuser_mount_point, kMountPoint);
    const uint32_t mtu = MtuOnBridge(site().host(), site().planned());
    port_ = OwnedPort(site().planned(), site().attachment());
    port_->mtu_request = mtu;
    PortPart::Require();
  }
  void Clear() override { TakePath(site().session(), *folder_, *port_, site().attachment()); }
  void Check(Differences& found) override {
    PortPart::Check(found);
    const fs::path& mount_point = site().config().vhostuser_mount_point;
    const auto folder = PodFolder::OpenIfExists(mount_point);
    if (!folder) {
      Tell(DifferenceKind::kFile, "folder", mount_point, " is missing", found);
      return;
    }
    const std::string file = folder->path() / FileOf(site().attachment());
    const auto text = folder->Read(FileOf(site().attachment()));
    if (!text) {
      Tell(DifferenceKind::kFile, "file", file, " is missing", found);
    } else if (*text != ConfigTextFor(site().planned())) {
      Tell(DifferenceKind::kFile, "file", file, " has other contents", found);
    }
    // A connecting port's socket is the application's own.
    if (site().planned().port->type == kListening) CheckSocket(*folder, found);
  }
  void Make() override {
    PortPart::Make();
    // An older sandbox may have left its socket. The name is ours with the port.
    folder_->RemoveSocket(port_->name);
    folder_->Write(FileOf(site().attachment()), ConfigTextFor(site().planned()));
  }
  [[nodiscard]] std::optional<Interface> Await() override {
    // The socket is there before the port has its number.
    site().session().WaitUntilUp();
    if (port_->type == kListening) TakeSwitchsSocket(site().config(), *folder_, port_->name);
    return Interface{.name = site().plug().ifname,
                     .mac = site().planned().mac,
                     .mtu = port_->mtu_request.value(),
                     .in_pod = true};
  }
  void Remove(const Attachment& owner) override {
    // A folder that cannot be opened keeps the port: nothing else says whose the socket is.
    const auto folder = FolderOf(site().plug(), site().config());
    const std::string& name = site().plug().host_interface;
    PortSession& session = site().session();
    TryAll steps;
    steps.Try([&] {
      if (folder) folder->Remove(FileOf(owner));
    });
    steps.Try([&] {
      // The socket goes first: as long as the port is ours, its name is.
      session.ovs().DeletePort(name, OwnerIds(owner), session.deadline(),
                               [&](const PortState* there) {
                                 if (folder && (there != nullptr || !folder->HasListener(name)))
                                   folder->RemoveSocket(name);
                               });
    });
    steps.Finish();
  }

 protected:
  [[nodiscard]] OvsPort Wanted() override { return port_ ? *port_ : PortPart::Wanted(); }

 private:
  [[nodiscard]] std::string FileOf(const Attachment& owner) const {
    return PodFolder::FileOf(owner, site().plug().ifname);
  }
  void CheckSocket(const PodFolder& folder, Differences& found) {
    const std::string& socket = site().plug().device;
    const std::string& name = site().planned().port->name;
    const auto switches = PodFolder::OpenIfExists(site().config().ovs_vhu_path);
    if (!folder.HasSocket(name)) {
      Tell(DifferenceKind::kSocket, "socket", socket, " is missing", found);
    } else if (switches && switches->HasSocket(name)) {
      Tell(DifferenceKind::kSocket, "socket", socket,
           " is dead: ovs-vswitchd was restarted, and listens on " +
               (switches->path() / name).string(),
           found);
    }
  }
  static void Tell(DifferenceKind kind, const std::string& noun, const std::string& name,
                   const std::string& rest, Differences& found) {
    std::string text = noun;
    found.push_back(
        {.kind = kind, .what = name, .text = text.append(" ").append(name).append(rest)});
  }

  std::optional<PodFolder> folder_;
  std::optional<OvsPort> port_;
};

class VhostUserDriver final : public Driver {
 public:
  explicit VhostUserDriver(DriverContext context) : Driver(std::move(context)) {
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

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    Parts parts;
    Add<SocketPart>(parts, site);
    return parts;
  }

 private:
  [[nodiscard]] const BindingConfig& config() const noexcept { return context_.config; }
};

}  // namespace

std::unique_ptr<Driver> NewVhostUserDriver(const DriverContext& context) {
  return std::make_unique<VhostUserDriver>(context);
}

}  // namespace kuryr::binding
