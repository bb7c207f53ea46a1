#include "binding/links/veth.h"

#include <chrono>

#include "binding/links/owner.h"
#include "binding/netlink/link_watch.h"

namespace kuryr::binding {

namespace {

/// A kubelet's DEL of the older pod comes some 0.1 s after the new one's ADD.
constexpr std::chrono::seconds kReplacedPodTime{5};

}  // namespace

bool IsOwnVeth(const Link& link, const Attachment& attachment) {
  return link.kind == "veth" && IsOwn(OwnerOf(link, attachment));
}

bool IsLeftoverVeth(const Link& link, const Attachment& attachment) {
  return link.kind == "veth" && IsLeftover(OwnerOf(link, attachment));
}

std::optional<Link> FindOnceReplaced(RouteSocket& host, const std::string& name,
                                     const Attachment& attachment, const Deadline& deadline) {
  auto link = host.FindLink(name);
  // The runtime says both pods' names and UIDs, so no annotation makes an ADD wait for a stranger.
  if (!link || OwnerOf(*link, attachment) != Owner::kReplaced) return link;
  if (!WaitUntilGone(host, *link, deadline.AtMost(kReplacedPodTime))) return link;
  return host.FindLink(name);
}

void RemoveOwnLinks(RouteSocket& host, LinkRemover& links, const std::vector<Link>& own) {
  std::vector<Link> marked;
  for (const Link& link : own) {
    // Only its group names the owner of such a link, and the remover would change the group.
    if (link.alias.empty()) {
      host.DeleteLink(link);
    } else {
      marked.push_back(link);
    }
  }
  links.Remove(host, marked);
}

void DeleteOwnVeth(RouteSocket& host, LinkRemover& links, const std::string& name,
                   const Attachment& attachment) {
  const auto link = host.FindLink(name);
  if (link && IsOwnVeth(*link, attachment)) RemoveOwnLinks(host, links, {*link});
}

}  // namespace kuryr::binding
