#include "cni/attachments/process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/unique_fd.h"

namespace kuryr::cni {
namespace {

/// 0 when there is no such process.
uint64_t StartTime(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The second field is the program's name in parentheses and may hold blanks and parentheses
  // itself.
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int number = 3; number < 22 && rest >> field; ++number) {
  }
  uint64_t start_time = 0;
  rest >> start_time;
  return start_time;
}

}  // namespace

ProcessId ProcessId::Own() { return Of(::getpid()); }

ProcessId ProcessId::Of(pid_t pid) { return {.pid = pid, .start_time = StartTime(pid)}; }

bool Terminate(const ProcessId& process) {
  if (process.pid <= 1) return false;
  // The descriptor pins the process first; only then is it worth asking whether it is the one
  // meant.
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd || StartTime(process.pid) != process.start_time) return false;
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGTERM, nullptr, 0) == 0;
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace kuryr::cni
