#pragma once

#include <string>
#include <vector>

#include "config/program_options.h"

namespace kuryr::service {

/// The command-line options that all daemons have.
struct CommonOptions {
  std::vector<std::string> config_files;  ///< --config-file
  bool debug = false;                     ///< --debug
  bool strict = false;                    ///< --strict
};

/// Logs a warning for each section and option that no program reads (FindUnknownOptions). With
/// `strict`, throws ConfigError instead.
void WarnOfUnknownOptions(const ConfigFiles& files, bool strict);

/// Sets the log's level and file. Throws std::system_error for a file that cannot be written.
void SetUpLog(const CommonOptions& options, const ProgramOptions& program);

/// The arguments of command "status".
struct StatusOptions {
  std::string pod;       ///< NAMESPACE/NAME; empty: all
  bool as_json = false;  ///< --json
};

}  // namespace kuryr::service
