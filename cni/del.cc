#include "cni/del.h"

#include <exception>

#include "base/log.h"
#include "cni/disconnect.h"

namespace kuryr::cni {
namespace {

/// Without a record there may be nothing, or the state directory was lost: the ports say.
AttachmentRecord RecordFromPorts(const AttachmentKey& key, const Node& node,
                                 const Deadline& deadline) {
  AttachmentRecord record;
  record.key = key;
  try {
    record.plugs = node.binding.FindPlugs(record.attachment(), deadline);
  } catch (const std::exception& e) {
    // A container never seen must be deletable with OVS down; a port left then is found when OVS is
    // back.
    Log(LogLevel::kWarning, "no record, and ports cannot be searched",
        {{"container", key.container_id}, {"error", e.what()}});
  }
  return record;
}

}  // namespace

void Del(const Request& request, const Node& node, const Deadline& deadline) {
  const AttachmentKey key = {request.network, request.container_id, request.ifname};
  auto attachment = node.attachments.Take(key);
  const AttachmentRecord record = attachment && attachment->record()
                                      ? *attachment->record()
                                      : RecordFromPorts(key, node, deadline);
  DisconnectAll(node.binding, record, deadline);
  if (attachment) attachment->Remove();
}

}  // namespace kuryr::cni
