#include "binding/ovs/own_changes.h"

#include <algorithm>

namespace kuryr::binding {
namespace {

/// Far more than ovs-vswitchd lags behind; about 100 bytes each.
constexpr size_t kMost = 1024;

}  // namespace

void OwnChanges::Add(ConfigNumber number, const std::string& removed_port) {
  const std::lock_guard lock(mutex_);
  if (removed_ports_.size() >= kMost) removed_ports_.clear();
  removed_ports_[number] = removed_port;
}

bool OwnChanges::MayHaveRemoved(const std::string& port, ConfigNumber applied, ConfigNumber last) {
  const std::lock_guard lock(mutex_);
  removed_ports_.erase(removed_ports_.begin(), removed_ports_.upper_bound(applied));
  const auto end = removed_ports_.upper_bound(last);
  const auto known = std::distance(removed_ports_.begin(), end);
  return known < last - applied || std::any_of(
                                       removed_ports_.begin(), end,
                                       [&](const auto& change) { return change.second == port; });
}

}  // namespace kuryr::binding
