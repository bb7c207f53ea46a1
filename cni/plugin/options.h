#pragma once

#include <string>
#include <vector>

namespace kuryr::cni {

/// The command line. Only people give one: runtimes call without arguments.
struct Options {
  std::vector<std::string> config_files;
  bool debug = false;
  std::string text;       ///< when not empty: what to print, and then to exit with `exit_code`
  bool is_error = false;  ///< `text` is for stderr
  int exit_code = 0;
};

[[nodiscard]] Options ParseOptions(int argc, char** argv);

}  // namespace kuryr::cni
