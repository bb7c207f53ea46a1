#include "cni/commands/del.h"

#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "binding/netns.h"
#include "cni/commands/unplug.h"
#include "cni/ovs_cni/cache.h"
#include "cni/ovs_cni/unplug_ovs_cni.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

/// A record of what the node has. A record is missing when nothing was plugged, or when the state
/// directory was lost. A container never seen must be deletable with Open vSwitch down; a port that
/// is left then is found when Open vSwitch is back.
AttachmentRecord RecordFromNode(const AttachmentKey& key, const Call& call) {
  const Request& request = call.request;
  AttachmentRecord record;
  record.key = key;
  record.netns = request.netns_path();
  record.plugs = call.node.binding.FindPlugs(record.attachment(), call.deadline);
  if (!request.config.ipam.empty()) {
    record.delegate_config =
        request.config.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return record;
}

/// Unplugs what ovs-cni plugged, which has no record of ours.
void UnplugOfOvsCni(const Call& call, const AttachmentRecord& record) {
  const Request& request = call.request;
  const OvsCniCache cache(call.config.ovs_cni_cache_dir);
  if (record.plugs.empty()) {
    UnplugOvsCni(request, cache.Find(request.container_id, request.ifname), call.config.binding,
                 call.deadline);
  }
  cache.Remove(request.container_id, request.ifname);
}

/// The last act: what fails here leaves no network of the pod's.
void RemoveRecord(LockedAttachment& attachment, const Config& config) {
  try {
    attachment.Remove();
  } catch (const std::system_error& e) {
    throw CniError(
        ErrorCode::kIoFailure,
        "the pod's network is gone, and its record cannot be removed from " +
            config.state_dir.string(),
        std::string(e.what()) + ": the folder of [cni_daemon] state_dir has to be writable");
  }
}

}  // namespace

std::string Del(const Call& call) {
  const Request& request = call.request;
  const AttachmentKey key = {request.config.name, request.container_id, request.ifname};
  auto attachment = call.node.attachments.Take(key);
  call.stages.OnStage(Stage::kUnplug);
  AttachmentRecord record =
      attachment && attachment->record() ? *attachment->record() : RecordFromNode(key, call);
  // This process may not see the path in the record.
  if (request.netns_fd >= 0 && binding::FindNetnsId(request.netns_path()) == record.netns_id)
    record.netns = request.netns_path();
  Unplug(record, request, call.node, call.deadline);
  if (request.config.is_ovs_cni) UnplugOfOvsCni(call, record);
  if (attachment) RemoveRecord(*attachment, call.config);
  return {};
}

bool LeaveToAgent(const AttachmentKey& key, AttachmentStore& attachments) {
  auto attachment = attachments.TryTake(key);
  if (!attachment || !attachment->record() || !attachment->record()->delegate_config.empty())
    return false;
  // The record is not synced: after a power failure it is of an earlier boot, and removed as such.
  AttachmentRecord unwanted = *attachment->record();
  unwanted.added = false;
  attachment->Write(std::move(unwanted));
  return true;
}

}  // namespace kuryr::cni
