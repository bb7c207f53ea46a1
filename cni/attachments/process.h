#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace kuryr::cni {

/// A process that is not taken for another one when its number is used again.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start_time = 0;  ///< clock ticks after boot, proc_pid_stat(5) field 22

  bool operator==(const ProcessId&) const = default;

  [[nodiscard]] static ProcessId Own();
  /// Its start time is 0 when there is no such process.
  [[nodiscard]] static ProcessId Of(pid_t pid);
};

/// Sends SIGTERM to exactly that process; false when it has ended.
bool Terminate(const ProcessId& process);

/// /proc/sys/kernel/random/boot_id: another one means that no link made before is there any more.
[[nodiscard]] std::string BootId();

}  // namespace kuryr::cni
