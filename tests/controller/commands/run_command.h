#pragma once

#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace kuryr::test {

/// Runs a command of kuryr-controller with this kuryr.conf.
inline ProcessResult RunCommand(const std::string& command,
                                const std::vector<std::string>& arguments,
                                const std::string& conf) {
  std::vector<std::string> argv = {test::BinDir() + "/kuryr-controller", "--config-file", conf,
                                   command};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return RunProgram({.argv = argv});
}

}  // namespace kuryr::test
