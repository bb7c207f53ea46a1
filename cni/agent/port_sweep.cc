#include "cni/agent/port_sweep.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/event_fd.h"
#include "base/log.h"
#include "base/names.h"
#include "base/rollback.h"
#include "cni/standalone/standalone_vif.h"

namespace kuryr::cni {
namespace {

AttachmentKey KeyOf(const binding::FoundPlug& port) {
  return {port.attachment.network, port.attachment.container_id, port.attachment.ifname};
}

bool Includes(const std::vector<AttachmentKey>& keys, const AttachmentKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

PortSweep::PortSweep(const NodeContext& node, Questions questions, std::chrono::milliseconds grace)
    : node_(node), questions_(std::move(questions)), grace_(grace) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void PortSweep::Run(const std::stop_token& stop) {
  const EventFd cancel;
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Set(); });
  std::vector<AttachmentKey> orphans;
  bool looked = false;
  while (!looked || !orphans.empty()) {
    {
      const MutexLock lock(mutex_);
      changed_.wait_for(mutex_, stop, grace_, [] { return false; });
    }
    if (stop.stop_requested()) return;
    if (!questions_.knows_pods()) {
      Log(LogLevel::kDebug, "no port is looked for yet: the node's pods are not known");
      continue;
    }
    try {
      orphans = Look(orphans, Deadline::After(kUndoTime, cancel.fd()));
      looked = true;
    } catch (const std::exception& e) {
      Log(LogLevel::kDebug, "ports without pod and record cannot be looked for",
          {{"error", e.what()}});
    }
  }
  Log(LogLevel::kDebug, "every port has its record or its pod");
}

std::vector<AttachmentKey> PortSweep::Look(const std::vector<AttachmentKey>& before,
                                           const Deadline& deadline) {
  std::vector<AttachmentKey> orphans;
  for (const binding::FoundPlug& port : node_.binding.FindOvsPlugs(deadline)) {
    if (!IsOrphan(port)) continue;
    const AttachmentKey key = KeyOf(port);
    if (!Includes(before, key) || !Remove(port, deadline)) orphans.push_back(key);
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
  // Somebody else's work, or by now somebody's port.
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
