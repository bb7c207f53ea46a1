#include "binding/owner.h"

#include "binding/link_mark.h"

namespace kuryr::binding {

Owner OwnerOf(const Attachment& named, const Attachment& attachment) {
  const bool same_container = named.container_id == attachment.container_id;
  if (same_container && named.network == attachment.network && named.ifname == attachment.ifname)
    return Owner::kOwn;
  // Who is no pod of Kubernetes has no other sandboxes.
  if (attachment.pod_uid.empty()) return Owner::kForeign;
  if (named.pod_uid == attachment.pod_uid) return same_container ? Owner::kForeign : Owner::kOlder;
  return named.pod == attachment.pod ? Owner::kReplaced : Owner::kForeign;
}

Owner OwnerOf(const Link& link, const Attachment& attachment) {
  if (link.alias.empty() && !link.up && link.group == BirthGroup(attachment))
    return Owner::kUnfinished;
  const auto mark = LinkMark::Parse(link.alias);
  return mark ? OwnerOf(mark->attachment, attachment) : Owner::kForeign;
}

}  // namespace kuryr::binding
