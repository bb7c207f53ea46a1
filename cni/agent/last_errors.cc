#include "cni/agent/last_errors.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

/// More than a node has pods; those that went for good would stay otherwise.
constexpr size_t kMost = 512;

std::string PodOf(const Request& request) {
  return request.pod.name_space + "/" + request.pod.name;
}

}  // namespace

void LastErrors::Add(const Request& request, const CniError& error) {
  if (request.pod.name.empty() || error.code() == ErrorCode::kUnknownContainer) return;
  const MutexLock lock(mutex_);
  errors_.insert_or_assign(PodOf(request), Entry{.at = Clock::now(),
                                                 .command = request.command,
                                                 .container_id = request.container_id,
                                                 .code = error.code(),
                                                 .message = error.what()});
  if (errors_.size() <= kMost) return;
  errors_.erase(std::min_element(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
    return a.second.at < b.second.at;
  }));
}

void LastErrors::Forget(const Request& request) {
  Forget(PodOf(request), request.command == Command::kDel);
}

void LastErrors::OnDeleted(const watcher::WatchEvent& event) {
  constexpr bool kOfDel = true;
  Forget(event.name_space + "/" + event.name, !kOfDel);
}

void LastErrors::Forget(const std::string& pod, bool of_del) {
  const MutexLock lock(mutex_);
  const auto found = errors_.find(pod);
  if (found == errors_.end() || (found->second.command == Command::kDel) != of_del) return;
  errors_.erase(found);
}

std::map<std::string, LastErrors::Entry> LastErrors::All() const {
  const MutexLock lock(mutex_);
  return errors_;
}

}  // namespace kuryr::cni
