#include "controller/cluster/askers.h"

#include <utility>

namespace kuryr::controller {

/// Pods that are deleted never leave the list, so a full list is emptied.
void Askers::Add(const std::string& wanted, const Key& asker) {
  if (size_ >= kMost) {
    by_wanted_.clear();
    size_ = 0;
  }
  if (by_wanted_[wanted].insert(asker).second) ++size_;
}

std::set<Key> Askers::Take(const std::string& wanted) {
  auto found = by_wanted_.extract(wanted);
  if (found.empty()) return {};
  size_ -= found.mapped().size();
  return std::move(found.mapped());
}

}  // namespace kuryr::controller
