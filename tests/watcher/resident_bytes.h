#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace kuryr::watcher {

/// The bytes of this process' memory that are not swapped out.
inline size_t ResidentBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace kuryr::watcher
