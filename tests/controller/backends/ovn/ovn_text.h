#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/rollback.h"
#include "controller/backends/ovn/ovn_options.h"

namespace kuryr::controller::ovn {

/// The options of a kuryr.conf with this text.
inline OvnOptions ReadOptionsOf(const std::string& text) {
  std::string name = (std::filesystem::temp_directory_path() / "kuryr-ovn-XXXXXX").string();
  ::close(::mkstemp(name.data()));
  const Rollback remove([&] { std::filesystem::remove(name); });
  std::ofstream(name) << text << std::flush;
  return ReadOvnOptions(ConfigFiles({name}));
}

}  // namespace kuryr::controller::ovn
