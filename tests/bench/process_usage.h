#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace kuryr::test {

/// The number behind `key` in a status file of /proc (proc(5)); 0 if there is none.
inline long StatusOf(const std::filesystem::path& file, const std::string& key) {
  std::ifstream status(file);
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stol(line.substr(key.size() + 1));
  }
  return 0;
}

/// The resources that a process uses on the node.
struct ProcessUsage {
  double cpu_ms = 0;  ///< user and system time so far
  long resident_kib = 0;
  long peak_kib = 0;  ///< since ForgetPeak
  long threads = 0;
  long wake_ups = 0;  ///< how often each present thread went to sleep so far

  explicit ProcessUsage(pid_t pid) {
    const std::filesystem::path folder = "/proc/" + std::to_string(pid);
    std::ifstream file(folder / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream words(text.substr(text.rfind(')') + 2));
    std::string word;
    for (int field = 3; words >> word; ++field) {
      if (field == 14 || field == 15)
        cpu_ms += std::stod(word) * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
    resident_kib = StatusOf(folder / "status", "VmRSS");
    peak_kib = StatusOf(folder / "status", "VmHWM");
    for (const auto& thread : std::filesystem::directory_iterator(folder / "task")) {
      ++threads;
      wake_ups += StatusOf(thread.path() / "status", "voluntary_ctxt_switches");
    }
  }
};

inline long CountThreads(pid_t pid) {
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task");
  return std::distance(begin(threads), end(threads));
}

/// Resets the peak to the present resident size (proc(5), clear_refs).
inline void ForgetPeak(pid_t pid) {
  std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << "5";
}

}  // namespace kuryr::test
