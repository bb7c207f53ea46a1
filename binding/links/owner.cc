#include "binding/links/owner.h"

#include <string>

#include "binding/links/link_mark.h"

namespace kuryr::binding {
namespace {

bool SameAndNotEmpty(const ExternalIds& a, const ExternalIds& b, const std::string& key) {
  const auto in_a = a.find(key);
  const auto in_b = b.find(key);
  return in_a != a.end() && in_b != b.end() && in_a->second == in_b->second &&
         !in_a->second.empty();
}

/// "system" is how the database may call a port without a type.
bool HasTypeOf(const PortState& there, const OvsPort& wanted) {
  return there.type == wanted.type || (there.type == "system" && wanted.type.empty());
}

}  // namespace

Owner OwnerOf(const Attachment& named, const Attachment& attachment) {
  const bool same_container = named.container_id == attachment.container_id;
  if (same_container && named.network == attachment.network && named.ifname == attachment.ifname)
    return Owner::kOwn;
  // An attachment without a pod of Kubernetes has no other sandboxes.
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

bool MayMend(const PortState& there, const OvsPort& wanted, const ExternalIds& owner) {
  if (!HasTypeOf(there, wanted)) return false;
  if (Includes(there.external_ids, owner)) return true;
  ExternalIds claims = owner;
  claims[OpenVSwitch::kNeutronPort] = wanted.external_ids.at(OpenVSwitch::kNeutronPort);
  for (const auto& [key, value] : claims) {
    const auto present = there.external_ids.find(key);
    if (present != there.external_ids.end() && present->second != value) return false;
  }
  return there.bridge == wanted.bridge && there.IsUp();
}

bool MayReplace(const PortState& there, const OvsPort& wanted) {
  if (!HasTypeOf(there, wanted)) return false;
  const auto same = [&](const char* key) {
    return SameAndNotEmpty(there.external_ids, wanted.external_ids, key);
  };
  if (same(OpenVSwitch::kContainerId) && same(OpenVSwitch::kNetwork)) return true;
  if (wanted.type.empty()) return same(OpenVSwitch::kNeutronPort);
  return same(OpenVSwitch::kPodUid) && there.external_ids.contains(OpenVSwitch::kContainerId) &&
         !same(OpenVSwitch::kContainerId);
}

}  // namespace kuryr::binding
