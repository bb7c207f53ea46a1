#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "binding/devices/lent_vf.h"
#include "binding/devices/pod_folder.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/l3.h"
#include "tests/bench/driver_floor.h"
#include "tests/support/fake_pci.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;
using test::FakePci;

constexpr uint32_t kMtu = 1450;
/// The values of a card's unused virtual functions.
constexpr MacAddress kIdleMac{.bytes = {2, 0, 0, 0, 0, 9}};
constexpr uint32_t kIdleMtu = 1600;

void Write(const fs::path& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0)
    ThrowErrno("write " + path.string());
}

void Remove(const fs::path& path) {
  if (::unlink(path.c_str()) != 0) ThrowErrno("remove " + path.string());
}

void LendVf(const BenchPod& pod) {
  const std::string on_the_way = NameOnTheWay(*vif::PciAddress::Parse(pod.planned.plug.device));
  RouteSocket host;
  host.ChangeLink(*host.FindLink(pod.planned.plug.host_interface),
                  {.netns_fd = pod.netns.fd(), .name = on_the_way});
  RouteSocket inside = RouteSocket::OpenIn(pod.netns);
  inside.ChangeLink(
      *inside.FindLink(on_the_way),
      {.mac = *vif::Common(pod.vif).address, .mtu = kMtu, .name = "eth0", .up = true});
}

void GiveBackVf(const BenchPod& pod) {
  const Netns home = Netns::Current();
  RouteSocket inside = RouteSocket::OpenIn(pod.netns);
  inside.ChangeLink(*inside.FindLink("eth0"),
                    {.netns_fd = home.fd(), .name = pod.planned.plug.host_interface});
  RouteSocket host;
  host.ChangeLink(*host.FindLink(pod.planned.plug.host_interface),
                  {.mac = kIdleMac, .mtu = kIdleMtu});
}

OvsPort RepresentorPort(const BenchPod& pod) {
  const std::string name =
      "wire" + pod.planned.plug.host_interface.substr(std::string("ens1v").size());
  return {.name = name, .bridge = "br-int", .external_ids = {{"iface-id", name}}};
}

void ConnectHostDevice(BenchNode& node, const BenchPod& pod) {
  LendVf(pod);
  OpenVSwitch ovs(node.remote());
  const OvsPort port = RepresentorPort(pod);
  const auto added = std::get<AddedPort>(ovs.AddPort(port, Soon()));
  ConfigureL3(pod.netns, "eth0", pod.planned.l3, L3Scope::kPod);
  ovs.WaitUntilUp(port, added, Soon());
  RouteSocket host;
  host.ChangeLink(*host.FindLink(port.name), {.mtu = kMtu, .up = true});
}

/// Waits for ovs-vswitchd, which may write back the flags that it remembers.
void DisconnectHostDevice(BenchNode& node, const BenchPod& pod) {
  GiveBackVf(pod);
  RouteSocket host;
  const OvsPort port = RepresentorPort(pod);
  OpenVSwitch ovs(node.remote());
  ovs.DeletePort(port.name, {}, Soon());
  ovs.WaitUntilApplied(Soon());
  host.ChangeLink(*host.FindLink(port.name), {.up = false});
}

fs::path FileOf(const fs::path& folder, const BenchPod& pod) {
  return folder / PodFolder::FileOf(pod.attachment, "eth0");
}

void ConnectDpdk(BenchNode& node, const BenchPod& pod) {
  const fs::path pci = node.config().sysfs / "bus/pci";
  Write(FileOf(node.config().pci_mount_point, pod), pod.planned.plug.device);
  Write(pci / "devices" / pod.planned.plug.device / "driver_override", FakePci::kDpdkDriver);
  Write(pci / "drivers" / FakePci::kKernelDriver / "unbind", pod.planned.plug.device);
  Write(pci / "drivers" / FakePci::kDpdkDriver / "bind", pod.planned.plug.device);
}

void DisconnectDpdk(BenchNode& node, const BenchPod& pod) {
  const fs::path pci = node.config().sysfs / "bus/pci";
  Write(pci / "devices" / pod.planned.plug.device / "driver_override", "\n");
  Write(pci / "drivers" / FakePci::kDpdkDriver / "unbind", pod.planned.plug.device);
  Write(pci / "drivers_probe", pod.planned.plug.device);
  Remove(FileOf(node.config().pci_mount_point, pod));
}

OvsPort VhostPort(const BenchPod& pod, const std::string& type) {
  OvsPort port = {.name = pod.planned.plug.host_interface, .bridge = "br-int", .type = type};
  port.external_ids = {{"iface-id", port.name}};
  port.mtu_request = kMtu;
  return port;
}

void ConnectVhostUser(BenchNode& node, const BenchPod& pod, const OvsPort& port,
                      const std::string& mode) {
  OpenVSwitch ovs(node.remote());
  const auto added = std::get<AddedPort>(ovs.AddPort(port, Soon()));
  Write(FileOf(node.config().vhostuser_mount_point, pod),
        R"({"mode":")" + mode + R"(","vhostmac":")" + vif::Common(pod.vif).address->ToString() +
            R"(","vhostname":")" + port.name + R"("})");
  ovs.WaitUntilUp(port, added, Soon());
}

void DisconnectVhostUser(BenchNode& node, const BenchPod& pod) {
  Remove(FileOf(node.config().vhostuser_mount_point, pod));
  OpenVSwitch(node.remote()).DeletePort(pod.planned.plug.host_interface, {}, Soon());
}

}  // namespace

Floor SriovFloor() {
  return {.connect =
              [](BenchNode& /*node*/, const BenchPod& pod) {
                LendVf(pod);
                ConfigureL3(pod.netns, "eth0", pod.planned.l3, L3Scope::kPod);
              },
          .disconnect = [](BenchNode& /*node*/, const BenchPod& pod) { GiveBackVf(pod); }};
}

Floor HostDeviceFloor() {
  return {.connect = ConnectHostDevice, .disconnect = DisconnectHostDevice};
}

Floor DpdkFloor() { return {.connect = ConnectDpdk, .disconnect = DisconnectDpdk}; }

Floor VhostUserClientFloor() {
  return {.connect =
              [](BenchNode& node, const BenchPod& pod) {
                ConnectVhostUser(node, pod, VhostPort(pod, "dpdkvhostuser"), "client");
                const fs::path socket =
                    node.config().ovs_vhu_path / pod.planned.plug.host_interface;
                fs::rename(socket, pod.planned.plug.device);
              },
          .disconnect =
              [](BenchNode& node, const BenchPod& pod) {
                Remove(pod.planned.plug.device);
                DisconnectVhostUser(node, pod);
              }};
}

Floor VhostUserServerFloor() {
  return {.connect =
              [](BenchNode& node, const BenchPod& pod) {
                OvsPort port = VhostPort(pod, "dpdkvhostuserclient");
                port.options["vhost-server-path"] = pod.planned.plug.device;
                ConnectVhostUser(node, pod, port, "server");
              },
          .disconnect = DisconnectVhostUser};
}

}  // namespace kuryr::binding
