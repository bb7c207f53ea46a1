#include "binding/veth.h"

#include "binding/link_mark.h"

namespace kuryr::binding {

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

void DeleteOwnVeth(RouteSocket& host, LinkRemover& links, const std::string& name,
                   const Attachment& attachment) {
  const auto link = host.FindLink(name);
  if (link && IsOwnVeth(*link, attachment)) links.Remove(host, {*link});
}

}  // namespace kuryr::binding
