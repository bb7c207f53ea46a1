#include "cni/agent/upkeep/sweep.h"

#include <exception>

#include "base/log.h"
#include "binding/netns.h"

namespace kuryr::cni {
namespace {

/// Why nothing that lives has the record; null where something may have it.
const char* WhyStale(const AttachmentRecord& record) {
  if (record.boot_id != BootId()) return "of an earlier boot";
  if (!record.added) return "of an add that was never answered, or left by a del";
  // This process may lack the node's mounts. So a path that is missing, or has the plain file on
  // which a namespace is mounted, proves nothing. Only another namespace at the path proves it.
  const auto present = binding::FindNetnsId(record.netns);
  const bool replaced = present && present->device == record.netns_id.device &&
                        present->inode != record.netns_id.inode;
  return replaced ? "of a namespace that is gone" : nullptr;
}

/// False when another call is at work on the attachment.
bool SweepOne(const AttachmentKey& key, const NodeContext& node, const Deadline& deadline) {
  auto attachment = node.attachments.TryTake(key);
  if (!attachment) return !node.attachments.Find(key);
  if (!attachment->record()) {
    attachment->Remove();
    return true;
  }
  const AttachmentRecord record = *attachment->record();
  // Only the plugin, with the runtime's environment, can release a delegate's addresses.
  const char* why = record.delegate_config.empty() ? WhyStale(record) : nullptr;
  if (why == nullptr) return true;
  node.binding.Disconnect(record.plugs, record.attachment(), deadline);
  attachment->Remove();
  Log(LogLevel::kInfo, "removed an attachment",
      {{"why", why}, {"pod", record.pod}, {"container", key.container_id}, {"ifname", key.ifname}});
  return true;
}

}  // namespace

Sweep::Sweep(const NodeContext& node, const Deadline& deadline) : node_(node) {
  const MutexLock lock(mutex_);
  for (const AttachmentKey& key : node.attachments.List()) {
    try {
      if (!SweepOne(key, node, deadline)) left_.push_back(key);
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "an attachment could not be removed; it will be tried again",
          {{"container", key.container_id}, {"ifname", key.ifname}, {"error", e.what()}});
      left_.push_back(key);
    }
  }
}

void Sweep::Begin(Upkeep& upkeep) {
  for (const AttachmentKey& key : left()) upkeep.AddRateLimited(*this, ToString(key));
}

bool Sweep::Try(Upkeep& /*upkeep*/, const std::string& key, const Deadline& deadline) {
  const auto attachment = ParseAttachmentKey(key);
  if (!SweepOne(attachment.value(), node_, deadline)) return false;
  const MutexLock lock(mutex_);
  std::erase(left_, *attachment);
  return true;
}

std::vector<AttachmentKey> Sweep::left() const {
  const MutexLock lock(mutex_);
  return left_;
}

}  // namespace kuryr::cni
