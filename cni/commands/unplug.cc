#include "cni/commands/unplug.h"

#include "base/json.h"
#include "binding/try_all.h"
#include "cni/standalone/delegate.h"

namespace kuryr::cni {
namespace {

/// `request` as it would be for the record's attachment.
Request RequestFor(const AttachmentRecord& record, const Request& request) {
  Request own = request;
  own.container_id = record.key.container_id;
  own.ifname = record.key.ifname;
  if (own.netns.empty()) own.netns = record.netns;
  return own;
}

}  // namespace

void ReleaseAddresses(const AttachmentRecord& record, const Request& request,
                      const Deadline& deadline) {
  if (record.delegate_config.empty()) return;
  const nlohmann::json config = ParseJson(record.delegate_config);
  Delegate(RequestFor(record, request), config).Del(deadline);
}

void Unplug(const AttachmentRecord& record, const Request& request, const NodeContext& node,
            const Deadline& deadline) {
  binding::TryAll steps;
  // A plugin that hangs leaves time for the rest.
  steps.Try([&] { ReleaseAddresses(record, request, deadline.AtMost(deadline.Remaining() / 2)); });
  steps.Try([&] { node.binding.Disconnect(record.plugs, record.attachment(), deadline); });
  steps.Finish();
}

}  // namespace kuryr::cni
