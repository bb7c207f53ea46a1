#pragma once

#include <filesystem>
#include <string>

namespace kuryr::test {

/// The folder of the test's program and all programs of its build. It is found at run time: a
/// compilation without a path in it can be shared with other clones.
inline std::string BinDir() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

/// The root of the source tree, which contains build/PRESET/bin.
inline std::string SourceDir() {
  return std::filesystem::path(BinDir()).parent_path().parent_path().parent_path().string();
}

inline std::string TestData() { return SourceDir() + "/tests/data"; }

}  // namespace kuryr::test
