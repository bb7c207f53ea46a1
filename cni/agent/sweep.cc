#include "cni/agent/sweep.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "base/backoff.h"
#include "base/log.h"
#include "base/rollback.h"
#include "binding/netns.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

/// Why the record is of nothing that lives; null when it may be.
const char* WhyStale(const AttachmentRecord& record) {
  if (record.boot_id != BootId()) return "of an earlier boot";
  if (!record.added) return "of an add that was never answered, or left by a del";
  // The node's mounts may be missing here. So a path that is not there, or has the plain file that
  // a namespace is mounted on, proves nothing. Only another namespace in its place says that it has
  // gone.
  const auto present = binding::FindNetnsId(record.netns);
  const bool replaced = present && present->device == record.netns_id.device &&
                        present->inode != record.netns_id.inode;
  return replaced ? "of a namespace that is gone" : nullptr;
}

/// False when somebody is at work on the attachment: what it will be is not known yet.
bool SweepOne(const AttachmentKey& key, const NodeContext& node, const Deadline& deadline) {
  auto attachment = node.attachments.TryTake(key);
  if (!attachment) return !node.attachments.Find(key);
  if (!attachment->record()) {
    attachment->Remove();
    return true;
  }
  const AttachmentRecord record = *attachment->record();
  // A delegate's addresses are released by the plugin, which has the runtime's environment.
  const char* why = record.delegate_config.empty() ? WhyStale(record) : nullptr;
  if (why == nullptr) return true;
  node.binding.Disconnect(record.plugs, record.attachment(), deadline);
  attachment->Remove();
  Log(LogLevel::kInfo, "removed an attachment",
      {{"why", why}, {"pod", record.pod}, {"container", key.container_id}, {"ifname", key.ifname}});
  return true;
}

void LogFailure(LogLevel level, const AttachmentKey& key, const std::exception& failure) {
  Log(level, "an attachment could not be removed; it will be tried again",
      {{"container", key.container_id}, {"ifname", key.ifname}, {"error", failure.what()}});
}

}  // namespace

Sweep::Sweep(const NodeContext& node, const Deadline& deadline) : node_(node) {
  std::vector<AttachmentKey> left;
  for (const AttachmentKey& key : node.attachments.List()) {
    try {
      if (!SweepOne(key, node, deadline)) left.push_back(key);
    } catch (const std::exception& e) {
      LogFailure(LogLevel::kError, key, e);
      left.push_back(key);
    }
  }
  if (left.empty()) return;
  const MutexLock lock(mutex_);
  left_ = std::move(left);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

std::vector<AttachmentKey> Sweep::left() const {
  const MutexLock lock(mutex_);
  return left_;
}

void Sweep::Run(const std::stop_token& stop) {
  Backoff backoff(1s, 60s);
  while (!left().empty()) {
    {
      const MutexLock lock(mutex_);
      changed_.wait_for(mutex_, stop, backoff.Next(), [] { return false; });
    }
    if (stop.stop_requested()) return;
    TryAll(stop);
  }
}

void Sweep::TryAll(const std::stop_token& stop) {
  for (const AttachmentKey& key : left()) {
    bool done = false;
    try {
      done = TryOne(key, stop);
    } catch (const std::exception& e) {
      LogFailure(LogLevel::kDebug, key, e);
    }
    const MutexLock lock(mutex_);
    if (done) std::erase(left_, key);
  }
}

bool Sweep::TryOne(const AttachmentKey& key, const std::stop_token& stop) {
  const EventFd cancel;
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Set(); });
  {
    const MutexLock lock(mutex_);
    if (std::find(paused_.begin(), paused_.end(), key) != paused_.end()) return false;
    at_work_.emplace(Try{.key = key, .cancel = cancel});
  }
  const Rollback over([this] {
    const MutexLock lock(mutex_);
    at_work_.reset();
    changed_.notify_all();
  });
  return SweepOne(key, node_, Deadline::After(kUndoTime, cancel.fd()));
}

Sweep::Pause::Pause(Sweep& sweep, const AttachmentKey& key) : sweep_(sweep), key_(key) {
  const MutexLock lock(sweep_.mutex_);
  sweep_.paused_.push_back(key_);
  while (sweep_.at_work_ && sweep_.at_work_->key == key_) {
    sweep_.at_work_->cancel.Set();
    sweep_.changed_.wait(sweep_.mutex_);
  }
}

Sweep::Pause::~Pause() {
  const MutexLock lock(sweep_.mutex_);
  sweep_.paused_.erase(std::find(sweep_.paused_.begin(), sweep_.paused_.end(), key_));
}

}  // namespace kuryr::cni
