#include "binding/veth.h"

#include <chrono>

#include "binding/link_mark.h"
#include "binding/netlink/link_watch.h"

namespace kuryr::binding {

namespace {

/// A kubelet's DEL of the older pod comes some 0.1 s after the new one's ADD.
constexpr std::chrono::seconds kReplacedPodTime{5};

/// The runtime says both pods' names and UIDs: no annotation makes anybody wait for a stranger.
bool IsReplacedPods(const Link& link, const Attachment& attachment) {
  const auto mark = LinkMark::Parse(link.alias);
  return mark && !attachment.pod_uid.empty() && mark->attachment.pod == attachment.pod &&
         mark->attachment.pod_uid != attachment.pod_uid;
}

}  // namespace

bool IsUnfinishedVeth(const Link& link) {
  return link.kind == "veth" && link.alias.empty() && !link.up;
}

bool IsOwnVeth(const Link& link, const Attachment& attachment) {
  return link.kind == "veth" && (IsMarkedBy(link, attachment) || IsUnfinishedVeth(link));
}

bool IsLeftoverVeth(const Link& link, const Attachment& attachment) {
  return link.kind == "veth" &&
         (IsMarkedByOlderSandbox(link, attachment) || IsUnfinishedVeth(link));
}

std::optional<Link> FindOnceReplaced(RouteSocket& host, const std::string& name,
                                     const Attachment& attachment, const Deadline& deadline) {
  auto link = host.FindLink(name);
  if (!link || !IsReplacedPods(*link, attachment)) return link;
  if (!WaitUntilGone(host, *link, deadline.AtMost(kReplacedPodTime))) return link;
  return host.FindLink(name);
}

void DeleteOwnVeth(RouteSocket& host, LinkRemover& links, const std::string& name,
                   const Attachment& attachment) {
  const auto link = host.FindLink(name);
  if (link && IsOwnVeth(*link, attachment)) links.Remove(host, {*link});
}

}  // namespace kuryr::binding
