#pragma once

#include <string>
#include <vector>

#include "base/program_options.h"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11's name.
namespace CLI {
class App;
}  // namespace CLI

namespace kuryr::service {

/// What the command lines of programs that run for long have in common.
struct CommonOptions {
  std::vector<std::string> config_files;  ///< --config-file
  bool debug = false;                     ///< --debug
};
/// Adds them and --version to the program's `app`, which fills `options` when it parses.
void AddCommonOptions(CLI::App& app, CommonOptions& options);

/// The log's level and file. Throws std::system_error for a file that cannot be written.
void SetUpLog(const CommonOptions& options, const ProgramOptions& program);

/// What a command ends with that could not do its work; 1 says that something is not as it should
/// be.
inline constexpr int kCommandFailed = 2;

enum class StatusForm { kText, kJson };

/// What command "status" is asked for.
struct StatusOptions {
  std::string pod;  ///< NAMESPACE/NAME; empty: all
  StatusForm form = StatusForm::kText;
};
/// Adds command "status" likewise; `about` says what it tells, `about_pod` what it tells of one
/// pod.
CLI::App* AddStatusCommand(CLI::App& app, StatusOptions& options, const std::string& about,
                           const std::string& about_pod);

}  // namespace kuryr::service
