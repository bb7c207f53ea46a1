#include "cni/agent/sweep.h"

#include <exception>
#include <string>

#include "base/log.h"
#include "binding/netns.h"
#include "cni/disconnect.h"

namespace kuryr::cni {
namespace {

/// Why the record is of nothing that lives; null when it may be.
const char* WhyStale(const AttachmentRecord& record) {
  if (record.boot_id != BootId()) return "of an earlier boot";
  if (!record.added) return "of an add that was never answered";
  // Here may be none of the node's mounts: nothing at the path, or the plain file that a namespace
  // is mounted on, says nothing. Only another namespace in its place says that it has gone.
  const auto present = binding::FindNetnsId(record.netns);
  const bool replaced = present && present->device == record.netns_id.device &&
                        present->inode != record.netns_id.inode;
  return replaced ? "of a namespace that is gone" : nullptr;
}

void SweepOne(const AttachmentKey& key, const Node& node, const Deadline& deadline) {
  auto attachment = node.attachments.TryTake(key);
  if (!attachment) return;
  if (!attachment->record()) return attachment->Remove();
  const AttachmentRecord& record = *attachment->record();
  // A delegate's addresses are taken back by the plugin, which has the runtime's environment.
  const char* why = record.delegate_config.empty() ? WhyStale(record) : nullptr;
  if (why == nullptr) return;
  Log(LogLevel::kInfo, "removing an attachment",
      {{"why", why}, {"pod", record.pod}, {"container", key.container_id}, {"ifname", key.ifname}});
  DisconnectAll(node.binding, record, deadline);
  attachment->Remove();
}

}  // namespace

void Sweep(const Node& node, const Deadline& deadline) {
  for (const AttachmentKey& key : node.attachments.List()) {
    try {
      SweepOne(key, node, deadline);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "an attachment could not be removed",
          {{"container", key.container_id}, {"ifname", key.ifname}, {"error", e.what()}});
    }
  }
}

}  // namespace kuryr::cni
