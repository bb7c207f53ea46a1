#include "cni/agent/cancellations.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

/// None of the three may hold a ':'.
std::string TextOf(const AttachmentKey& key) {
  return key.network + ":" + key.container_id + ":" + key.ifname;
}

}  // namespace

Cancellations::Entry::Entry(Cancellations& all, const AttachmentKey& key, const EventFd& cancel)
    : all_(all), key_(TextOf(key)), cancel_(cancel) {
  const MutexLock lock(all_.mutex_);
  all_.running_.emplace(key_, &cancel_);
}

Cancellations::Entry::~Entry() {
  const MutexLock lock(all_.mutex_);
  const auto [begin, end] = all_.running_.equal_range(key_);
  const auto own =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second == &cancel_; });
  all_.running_.erase(own);
}

void Cancellations::Cancel(const AttachmentKey& key) {
  const MutexLock lock(mutex_);
  const auto [begin, end] = running_.equal_range(TextOf(key));
  for (auto entry = begin; entry != end; ++entry) entry->second->Set();
}

}  // namespace kuryr::cni
