#include "cni/agent/upkeep/port_sweep.h"

#include <algorithm>
#include <exception>

#include "base/log.h"
#include "base/names.h"
#include "base/rollback.h"
#include "cni/standalone/standalone_vif.h"

namespace kuryr::cni {
namespace {

AttachmentKey KeyOf(const binding::FoundPlug& port) {
  return {port.attachment.network, port.attachment.container_id, port.attachment.ifname};
}

}  // namespace

bool PortSweep::Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) {
  if (!IsClean(deadline)) upkeep.AddAfter(*this, key, grace_);
  return true;
}

bool PortSweep::IsClean(const Deadline& deadline) {
  if (!questions_.knows_pods()) {
    Log(LogLevel::kDebug, "no port is looked for yet: the node's pods are not known");
    return false;
  }
  try {
    orphans_ = Look(deadline);
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "ports without pod and record cannot be looked for",
        {{"error", e.what()}});
    return false;
  }
  if (orphans_.empty()) Log(LogLevel::kDebug, "every port has its record or its pod");
  return orphans_.empty();
}

std::vector<AttachmentKey> PortSweep::Look(const Deadline& deadline) {
  std::vector<AttachmentKey> orphans;
  for (const binding::FoundPlug& port : node_.binding.FindOvsPlugs(deadline)) {
    if (!IsOrphan(port)) continue;
    const AttachmentKey key = KeyOf(port);
    const bool was_orphan = std::find(orphans_.begin(), orphans_.end(), key) != orphans_.end();
    if (!was_orphan || !Remove(port, deadline)) orphans.push_back(key);
  }
  return orphans;
}

bool PortSweep::IsOrphan(const binding::FoundPlug& port) const {
  const AttachmentKey key = KeyOf(port);
  const std::string& uid = port.attachment.pod_uid;
  if (key.network.empty() || key.container_id.empty() || key.ifname.empty() || !IsUuid(uid))
    return false;
  if (port.plug.host_interface == StandaloneHostInterface(key)) return false;
  return !node_.attachments.Find(key) && !questions_.has_pod(uid);
}

bool PortSweep::Remove(const binding::FoundPlug& port, const Deadline& deadline) {
  const AttachmentKey key = KeyOf(port);
  auto attachment = node_.attachments.Create(key);
  // A call is at work on the attachment, or the port has a record by now.
  if (!attachment || attachment->record()) return true;
  const Rollback remove_record([&] {
    try {
      attachment->Remove();
    } catch (const std::exception& e) {
      Log(LogLevel::kWarning, "empty record not removed", {{"error", e.what()}});
    }
  });
  try {
    AttachmentRecord record;
    record.key = key;
    record.plugs = {port.plug};
    node_.binding.Disconnect(record.plugs, record.attachment(), deadline);
    Log(LogLevel::kInfo, "removed a port that has neither record nor pod",
        {{"port", port.plug.host_interface},
         {"network", key.network},
         {"container", key.container_id},
         {"pod_uid", port.attachment.pod_uid}});
    return true;
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "a port that has neither record nor pod could not be removed",
        {{"port", port.plug.host_interface}, {"error", e.what()}});
    return false;
  }
}

}  // namespace kuryr::cni
