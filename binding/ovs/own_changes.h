#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace kuryr::binding {

/// A state of the configuration: Open_vSwitch.next_cfg (ovs-vswitchd.conf.db(5)).
using ConfigNumber = int64_t;

/// What this process has changed in one database, while ovs-vswitchd may not have applied it yet.
/// Thread-safe.
class OwnChanges {
 public:
  /// Change `number` removed the port of this name; none where it is empty. All is forgotten where
  /// nothing was found applied for 1,024 changes: whoever asks takes them for others'.
  void Add(ConfigNumber number, const std::string& removed_port);
  /// Whether a port of this name may be among what was removed by the changes after `applied`, up
  /// to `last`: those of others may have removed any. What is applied is forgotten.
  [[nodiscard]] bool MayHaveRemoved(const std::string& port, ConfigNumber applied,
                                    ConfigNumber last);

 private:
  std::mutex mutex_;
  std::map<ConfigNumber, std::string> removed_ports_;
};

}  // namespace kuryr::binding
