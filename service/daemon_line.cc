#include "service/daemon_line.h"

namespace kuryr::service {

DaemonLine::DaemonLine(const About& about)
    : ProgramLine(about.name, about.program),
      status_(AddCommand("status", about.status)),
      health_(AddCommand("health",
                         "Ask the running process how it is: \"ok\", or the reason and exit status "
                         "1; 2 if none answers")),
      report_(AddCommand("report",
                         "Print one JSON object for a bug report: status, health, metrics and "
                         "kuryr.conf, without secrets")) {
  Add("-c,--config-file FILE", options_.config_files, kAboutConfigFile);
  Add("--debug", options_.debug, "Log every step");
  Add("--strict", options_.strict, "Refuse sections and options that no program reads");
  status_.AddOutput(status_options_.as_json);
  status_.Add("POD", status_options_.pod, "NAMESPACE/NAME: " + about.pod).AllowPod();
  health_
      .Add("QUESTION", question_,
           "alive: if not, only a restart helps (default); ready: " + about.ready)
      .AllowOnly({"alive", "ready"});
}

const StatusOptions* DaemonLine::status() const {
  return status_.IsGiven() ? &status_options_ : nullptr;
}

const std::string* DaemonLine::health() const { return health_.IsGiven() ? &question_ : nullptr; }

}  // namespace kuryr::service
