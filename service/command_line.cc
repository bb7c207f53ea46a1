#include "service/command_line.h"

#include <CLI/CLI.hpp>

#include "base/log.h"

namespace kuryr::service {

void AddCommonOptions(CLI::App& app, CommonOptions& options) {
  app.set_version_flag("--version", app.get_name() + " " KURYR_VERSION);
  app.add_option(
      "--config-file", options.config_files,
      "kuryr.conf; may be given several times, a later one wins (default /etc/kuryr/kuryr.conf)");
  app.add_flag("--debug", options.debug, "log every step");
}

void SetUpLog(const CommonOptions& options, const ProgramOptions& program) {
  SetLogLevel(options.debug || program.debug ? LogLevel::kDebug : LogLevel::kInfo);
  if (!program.log_file.empty()) SetLogFile(program.log_file);
}

CLI::App* AddStatusCommand(CLI::App& app, StatusOptions& options, const std::string& about,
                           const std::string& about_pod) {
  CLI::App* status = app.add_subcommand("status", about);
  status->fallthrough();
  status->add_flag_callback("--json", [&options] { options.form = StatusForm::kJson; }, "as JSON");
  status->add_option("POD", options.pod, "NAMESPACE/NAME: " + about_pod);
  return status;
}

}  // namespace kuryr::service
