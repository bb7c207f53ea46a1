#include "binding/links/interfaces.h"

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/releaser.h"
#include "binding/links/owner.h"

namespace kuryr::binding {

namespace {

Link Required(std::optional<Link> link, const std::string& name) {
  if (!link) ThrowErrno(ENODEV, "find interface " + name);
  return *std::move(link);
}

}  // namespace

Link Find(RouteSocket& socket, const std::string& name) {
  return Required(socket.FindLink(name), name);
}

Link GlanceAt(RouteSocket& socket, const std::string& name) {
  return Required(socket.GlanceAt(name), name);
}

Interface Describe(const Link& link, bool in_pod) {
  return {.name = link.name, .mac = link.mac, .mtu = link.mtu, .in_pod = in_pod};
}

void ThrowTaken(const std::string& ifname) {
  throw InterfaceExists("interface " + ifname + " exists already in the pod");
}

void RequireFree(RouteSocket& inside, const std::string& ifname) {
  if (inside.FindLink(ifname)) ThrowTaken(ifname);
}

bool HasGlobalAddress(RouteSocket& socket, const Link& link) {
  const IpNetwork link_local = IpNetwork::Parse("fe80::/10").value();
  const auto addresses = socket.AddressesOf(link);
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](const auto& own) { return !link_local.Contains(own.address); });
}

std::vector<std::string> LinkNamesIn(const Netns& netns) {
  const NetnsGuard guard(netns);
  const std::unique_ptr<struct if_nameindex, Releaser<if_freenameindex>> table(::if_nameindex());
  if (!table) ThrowErrno("list the links of a namespace");
  std::vector<std::string> names;
  for (const auto* entry = table.get(); entry->if_name != nullptr; ++entry)
    names.emplace_back(entry->if_name);
  return names;
}

std::optional<Netns> NetnsOf(const Attachment& attachment) {
  if (attachment.netns.empty()) return std::nullopt;
  auto netns = Netns::OpenIfExists(attachment.netns);
  const bool known = attachment.netns_id != NetnsId();
  if (netns && known && netns->id() != attachment.netns_id) return std::nullopt;
  return netns;
}

std::vector<Link> FindMarkedLinksIn(const Netns& netns, const Attachment& attachment) {
  std::vector<Link> found;
  RouteSocket inside = RouteSocket::OpenIn(netns);
  for (const std::string& name : LinkNamesIn(netns)) {
    auto link = inside.FindLink(name);
    if (link && OwnerOf(*link, attachment) == Owner::kOwn) found.push_back(*std::move(link));
  }
  return found;
}

std::vector<Link> FindMarkedLinks(const Attachment& attachment) {
  const auto netns = NetnsOf(attachment);
  return netns ? FindMarkedLinksIn(*netns, attachment) : std::vector<Link>();
}

void TryUndo(const std::string& interface, const std::function<void()>& undo) noexcept {
  try {
    undo();
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "port is not unplugged completely",
        {{"interface", interface}, {"error", e.what()}});
  }
}

}  // namespace kuryr::binding
