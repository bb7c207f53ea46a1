#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rollback.h"
#include "controller/backends/pools/pool.h"

namespace kuryr::controller::pools {

/// The pools of a kuryr.conf with this text.
inline std::vector<Pool> ReadPoolsOf(const std::string& text) {
  std::string name = (std::filesystem::temp_directory_path() / "kuryr-pools-XXXXXX").string();
  ::close(::mkstemp(name.data()));
  const Rollback remove([&] { std::filesystem::remove(name); });
  std::ofstream(name) << text << std::flush;
  return ReadPools(ConfigFiles({name}));
}

}  // namespace kuryr::controller::pools
