#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/thread_annotations.h"

namespace kuryr::controller::neutron {

/// VLANs of trunks that are being given to sub-ports, so that no two threads choose the same one.
/// The id that was freed last is given last, because a node may still have an interface with it.
/// Thread-safe.
class VlanIds {
 public:
  static constexpr uint16_t kMost = 4094;

  /// Takes an id that is neither in `used` nor taken; nullopt: there is none.
  [[nodiscard]] std::optional<uint16_t> Take(const std::string& trunk,
                                             const std::set<uint16_t>& used) EXCLUDES(mutex_);
  void Return(const std::string& trunk, uint16_t id) EXCLUDES(mutex_);

 private:
  struct Taken {
    std::set<uint16_t> ids;
    uint16_t last = 0;
  };

  Mutex mutex_;
  std::map<std::string, Taken> trunks_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
