#include "service/command_line.h"

#include <CLI/CLI.hpp>

namespace kuryr::service {

void AddCommonOptions(CLI::App& app, CommonOptions& options) {
  app.set_version_flag("--version", app.get_name() + " " KURYR_VERSION);
  app.add_option(
      "--config-file", options.config_files,
      "kuryr.conf; may be given several times, a later one wins (default /etc/kuryr/kuryr.conf)");
  app.add_flag("--debug", options.debug, "log every step");
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
