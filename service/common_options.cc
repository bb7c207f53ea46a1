#include "service/common_options.h"

#include "base/log.h"

namespace kuryr::service {

void AddCommonOptions(CommandLine& line, CommonOptions& options) {
  line.Add(
      "--config-file", options.config_files,
      "kuryr.conf; may be given several times, a later one wins (default /etc/kuryr/kuryr.conf)");
  line.Add("--debug", options.debug, "log every step");
}

void SetUpLog(const CommonOptions& options, const ProgramOptions& program) {
  SetLogLevel(options.debug || program.debug ? LogLevel::kDebug : LogLevel::kInfo);
  if (!program.log_file.empty()) SetLogFile(program.log_file);
}

CommandLine AddStatusCommand(CommandLine& line, StatusOptions& options, const std::string& about,
                             const std::string& about_pod) {
  CommandLine status = line.AddCommand("status", about);
  status.Add("--json", options.as_json, "as JSON");
  status.Add("POD", options.pod, "NAMESPACE/NAME: " + about_pod);
  return status;
}

}  // namespace kuryr::service
