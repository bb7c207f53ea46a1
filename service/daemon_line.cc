#include "service/daemon_line.h"

namespace kuryr::service {

DaemonLine::DaemonLine(const About& about)
    : ProgramLine(about.name, about.program),
      status_(AddCommand("status", about.status)),
      health_(AddCommand(
          "health",
          "whether the one that runs is well: \"ok\", or why not and an exit status of 1")) {
  Add("--config-file", options_.config_files,
      "kuryr.conf; may be given several times, a later one wins (default /etc/kuryr/kuryr.conf)");
  Add("--debug", options_.debug, "log every step");
  status_.Add("--json", status_options_.as_json, "as JSON");
  status_.Add("POD", status_options_.pod, "NAMESPACE/NAME: " + about.pod);
  health_
      .Add("QUESTION", question_,
           "alive: only a restart would help where it is not (default); ready: " + about.ready)
      .AllowOnly({"alive", "ready"});
}

const StatusOptions* DaemonLine::status() const {
  return status_.IsGiven() ? &status_options_ : nullptr;
}

const std::string* DaemonLine::health() const { return health_.IsGiven() ? &question_ : nullptr; }

}  // namespace kuryr::service
