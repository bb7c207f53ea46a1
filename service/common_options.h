#pragma once

#include <string>
#include <vector>

#include "base/program_options.h"
#include "service/command_line.h"

namespace kuryr::service {

/// What the command lines of programs that run for long have in common.
struct CommonOptions {
  std::vector<std::string> config_files;  ///< --config-file
  bool debug = false;                     ///< --debug
};
/// Adds them to a program's; ProgramLine::Parse fills `options`.
void AddCommonOptions(CommandLine& line, CommonOptions& options);

/// The log's level and file. Throws std::system_error for a file that cannot be written.
void SetUpLog(const CommonOptions& options, const ProgramOptions& program);

/// What a command ends with that could not do its work; 1 says that something is not as it should
/// be.
inline constexpr int kCommandFailed = 2;

/// What command "status" is asked for.
struct StatusOptions {
  std::string pod;       ///< NAMESPACE/NAME; empty: all
  bool as_json = false;  ///< --json
};
/// Adds command "status" likewise; `about` says what it tells, `about_pod` what it tells of one
/// pod.
CommandLine AddStatusCommand(CommandLine& line, StatusOptions& options, const std::string& about,
                             const std::string& about_pod);

}  // namespace kuryr::service
