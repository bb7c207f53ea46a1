#pragma once

#include <filesystem>
#include <string>

namespace kuryr::test {

/// Where the test's program is, and with it all that belongs to its build: a compilation that names
/// no folder of its clone is another clone's, too.
inline std::string BinDir() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

/// build/PRESET/bin is in it.
inline std::string SourceDir() {
  return std::filesystem::path(BinDir()).parent_path().parent_path().parent_path().string();
}

inline std::string TestData() { return SourceDir() + "/tests/data"; }

}  // namespace kuryr::test
