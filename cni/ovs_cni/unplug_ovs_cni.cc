#include "cni/ovs_cni/unplug_ovs_cni.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "binding/devices/vf.h"
#include "binding/netlink/route_socket.h"
#include "binding/netns.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/port_mirrors.h"
#include "binding/try_all.h"

namespace kuryr::cni {
namespace {

using binding::OpenVSwitch;

/// Finds ports by the namespace's path, which no other pod has as long as this one lives. Without
/// it finds ports of the pod whose device is gone: the others may be of a newer sandbox.
class OvsCniPorts {
 public:
  OvsCniPorts(const Request& request, OpenVSwitch& ovs, const Deadline& deadline)
      : request_(request), ovs_(ovs), deadline_(deadline) {}

  [[nodiscard]] std::vector<std::string> Find() {
    std::vector<std::string> ports;
    if (request_.netns.empty() && request_.pod.uid.empty()) return ports;
    for (std::string& name : ovs_.FindPortNamesOf(Ids(), deadline_)) {
      const auto state = ovs_.FindPortState(name, deadline_);
      if (state && IsTheirs(name, *state)) ports.push_back(std::move(name));
    }
    return ports;
  }

 private:
  [[nodiscard]] binding::ExternalIds Ids() const {
    binding::ExternalIds ids = {{"owner", binding::kOvsCniOwner}, {"contIface", request_.ifname}};
    if (request_.netns.empty()) {
      ids["contPodUid"] = request_.pod.uid;
    } else {
      ids["contNetns"] = request_.netns;
    }
    return ids;
  }
  [[nodiscard]] bool IsTheirs(const std::string& name, const binding::PortState& state) {
    if (state.external_ids.contains(OpenVSwitch::kContainerId)) return false;
    return !request_.netns.empty() || !host_.FindLink(name);
  }

  const Request& request_;
  OpenVSwitch& ovs_;
  const Deadline deadline_;
  binding::RouteSocket host_;
};

void DeleteVeth(binding::RouteSocket& socket, const std::string& name) {
  const auto link = socket.FindLink(name);
  if (link && link->kind == "veth") (void)socket.DeleteLink(*link);
}

std::optional<binding::Netns> PodOf(const Request& request) {
  if (request.netns.empty()) return std::nullopt;
  auto pod = binding::Netns::OpenIfExists(request.netns_path());
  if (pod && pod->id() == binding::Netns::Current().id()) return std::nullopt;
  return pod;
}

/// Moves the device to the host, under the name that it had there.
void TakeBackDevice(const Request& request, const OvsCniCache::Entry& entry,
                    const binding::BindingConfig& config) {
  if (!IsLinkName(entry.link)) return;
  const auto address = vif::PciAddress::Parse(entry.device);
  const auto vf = address ? binding::FindVf(config.sysfs, *address) : std::nullopt;
  if (!vf) return;
  const binding::Netns here = binding::Netns::Current();
  if (const auto pod = PodOf(request)) {
    auto inside = binding::RouteSocket::OpenIn(*pod);
    if (const auto link = inside.FindLink(request.ifname); link) {
      inside.ChangeLink(*link, {.up = false});
      inside.ChangeLink(*link, {.netns_fd = here.fd(), .name = entry.link});
      return;
    }
  }
  // The kernel brought the device back when the namespace ended.
  binding::RouteSocket host;
  const auto link = host.FindLink(vf->link);
  if (!link || link->name == entry.link) return;
  host.ChangeLink(*link, {.up = false});
  host.ChangeLink(*link, {.name = entry.link});
}

/// Deletes the ports, and their veth pairs with `are_veths`. True when there was a port.
bool DeletePorts(const Request& request, const binding::BindingConfig& config, bool are_veths,
                 const Deadline& deadline) {
  OpenVSwitch ovs(config.ovsdb_connection);
  const std::vector<std::string> ports = OvsCniPorts(request, ovs, deadline).Find();
  binding::RouteSocket host;
  for (const std::string& port : ports) {
    (void)ovs.DeletePort(port, {}, deadline);
    if (are_veths) DeleteVeth(host, port);
  }
  return !ports.empty();
}

}  // namespace

void UnplugOvsCni(const Request& request, const std::optional<OvsCniCache::Entry>& entry,
                  const binding::BindingConfig& config, const Deadline& deadline) {
  binding::TryAll steps;
  bool found = entry.has_value();
  const bool has_device = entry && !entry->device.empty();
  steps.Try([&] {
    try {
      found = DeletePorts(request, config, !has_device, deadline) || found;
    } catch (const std::system_error& e) {
      if (entry) throw;
      Log(LogLevel::kDebug, "ports of ovs-cni cannot be searched", {{"error", e.what()}});
    }
  });
  steps.Try([&] {
    if (has_device) {
      TakeBackDevice(request, *entry, config);
    } else if (const auto pod = found ? PodOf(request) : std::nullopt) {
      auto inside = binding::RouteSocket::OpenIn(*pod);
      DeleteVeth(inside, request.ifname);
    }
  });
  steps.Finish();
}

}  // namespace kuryr::cni
