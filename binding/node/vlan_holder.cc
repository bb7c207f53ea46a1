#include "binding/node/vlan_holder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "binding/links/interfaces.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string path;
  bool inhabited = false;
};
/// Not opened: there may be more of them than a process may have files.
using Places = std::map<NetnsId, Place>;

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    names.push_back(entry->path().filename());
  }
  return names;
}

void AddProcesses(Places& places) {
  for (const std::string& name : NamesIn("/proc")) {
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); }))
      continue;
    const std::string path = "/proc/" + name + "/ns/net";
    if (const auto id = FindNetnsId(path)) places.try_emplace(*id, Place{path, true});
  }
}

void AddFolder(const fs::path& folder, Places& places) {
  for (const std::string& name : NamesIn(folder)) {
    const fs::path path = folder / name;
    if (const auto id = FindNetnsId(path)) places.try_emplace(*id, Place{path, false});
  }
}

bool SeesAllProcesses() {
  constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, proc_ns.h
  const auto own = FindNetnsId("/proc/self/ns/pid");
  return own && own->inode == kFirstPidNamespace;
}

/// `home` is the parent's namespace.
std::optional<Link> FindVlanIn(const Netns& netns, const NetnsId& home, const Link& parent,
                               uint16_t vlan_id) {
  RouteSocket inside = RouteSocket::OpenIn(netns);
  for (const std::string& name : LinkNamesIn(netns)) {
    auto link = inside.FindLink(name);
    if (!link || link->vlan_id != vlan_id || link->lower != parent.index) continue;
    if (link->lower_is_elsewhere != (netns.id() == home)) return link;
  }
  return std::nullopt;
}

}  // namespace

std::optional<VlanHolder> FindVlanHolder(const Link& parent, uint16_t vlan_id,
                                         const Attachment& attachment) {
  const NetnsId home = Netns::Current().id();
  Places places;
  AddProcesses(places);
  AddFolder("/run/netns", places);
  if (!attachment.netns.empty()) AddFolder(fs::path(attachment.netns).parent_path(), places);
  const bool knows = SeesAllProcesses();
  for (const auto& [id, place] : places) {
    auto netns = Netns::OpenIfExists(place.path);
    if (!netns || netns->id() != id) continue;
    if (auto link = FindVlanIn(*netns, home, parent, vlan_id)) {
      return VlanHolder{.netns = *std::move(netns),
                        .where = place.path,
                        .link = *std::move(link),
                        .inhabited = place.inhabited || !knows};
    }
  }
  return std::nullopt;
}

}  // namespace kuryr::binding
