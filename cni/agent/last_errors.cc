#include "cni/agent/last_errors.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

/// More than a node has pods; those that went for good would stay otherwise.
constexpr size_t kMost = 512;

}  // namespace

void LastErrors::Add(const std::string& pod, const CniError& error) {
  const MutexLock lock(mutex_);
  errors_.insert_or_assign(pod, Entry{Clock::now(), error.code(), error.what()});
  if (errors_.size() <= kMost) return;
  errors_.erase(std::min_element(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
    return a.second.at < b.second.at;
  }));
}

void LastErrors::Forget(const std::string& pod) {
  const MutexLock lock(mutex_);
  errors_.erase(pod);
}

std::map<std::string, LastErrors::Entry> LastErrors::All() const {
  const MutexLock lock(mutex_);
  return errors_;
}

}  // namespace kuryr::cni
