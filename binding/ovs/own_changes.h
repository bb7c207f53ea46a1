#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace kuryr::binding {

/// A state of the configuration: Open_vSwitch.next_cfg (ovs-vswitchd.conf.db(5)).
using ConfigNumber = int64_t;

/// This process's changes to one database that ovs-vswitchd may not have applied yet. Thread-safe.
class OwnChanges {
 public:
  /// Change `number` removed the port of this name, or no port where the name is empty. After 1,024
  /// changes of which none was found applied, all are forgotten, and count as other processes'.
  void Add(ConfigNumber number, const std::string& removed_port);
  /// Whether the changes after `applied`, up to `last`, may have removed a port of this name. Other
  /// processes' changes may have removed any port. Applied changes are forgotten.
  [[nodiscard]] bool MayHaveRemoved(const std::string& port, ConfigNumber applied,
                                    ConfigNumber last);

 private:
  std::mutex mutex_;
  std::map<ConfigNumber, std::string> removed_ports_;
};

}  // namespace kuryr::binding
