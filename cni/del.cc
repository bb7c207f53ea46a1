#include "cni/del.h"

#include "cni/disconnect.h"

namespace kuryr::cni {
namespace {

/// Without a record there may be nothing, or the state directory was lost: the node says. A
/// container never seen must be deletable with Open vSwitch down; a port left then is found when it
/// is back.
AttachmentRecord RecordFromNode(const AttachmentKey& key, const Request& request, const Node& node,
                                const Deadline& deadline) {
  AttachmentRecord record;
  record.key = key;
  record.netns = request.netns;
  record.plugs = node.binding.FindPlugs(record.attachment(), deadline);
  return record;
}

}  // namespace

void Del(const Request& request, const Node& node, const Deadline& deadline) {
  const AttachmentKey key = {request.network, request.container_id, request.ifname};
  auto attachment = node.attachments.Take(key);
  const AttachmentRecord record = attachment && attachment->record()
                                      ? *attachment->record()
                                      : RecordFromNode(key, request, node, deadline);
  DisconnectAll(node.binding, record, deadline);
  if (attachment) attachment->Remove();
}

}  // namespace kuryr::cni
