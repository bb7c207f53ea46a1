#pragma once

#include <string>
#include <vector>

#include "config/program_options.h"

namespace kuryr::service {

/// The command-line options that all daemons have.
struct CommonOptions {
  std::vector<std::string> config_files;  ///< --config-file
  bool debug = false;                     ///< --debug
};

/// Sets the log's level and file. Throws std::system_error for a file that cannot be written.
void SetUpLog(const CommonOptions& options, const ProgramOptions& program);

/// The exit status of a command that could not do its work; 1 means that it found a fault.
inline constexpr int kCommandFailed = 2;

/// The arguments of command "status".
struct StatusOptions {
  std::string pod;       ///< NAMESPACE/NAME; empty: all
  bool as_json = false;  ///< --json
};

}  // namespace kuryr::service
