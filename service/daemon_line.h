#pragma once

#include <string>

#include "service/command_line.h"
#include "service/common_options.h"

namespace kuryr::service {

inline constexpr const char* kAboutConfigFile =
    "Read this kuryr.conf; of several, a later one wins (default /etc/kuryr/kuryr.conf)";

/// The command line of a daemon: the options and the commands that all daemons have.
class DaemonLine : public ProgramLine {
 public:
  /// Texts of --help.
  struct About {
    std::string name;     ///< the program's
    std::string program;  ///< what the program does
    std::string status;   ///< the output of "status"
    std::string pod;      ///< the output of "status" for one pod
    std::string ready;    ///< the meaning of "health ready"
  };
  explicit DaemonLine(const About& about);

  [[nodiscard]] const CommonOptions& options() const noexcept { return options_; }
  /// The arguments of command "status"; null if the user has not given it.
  [[nodiscard]] const StatusOptions* status() const;
  /// The argument of command "health", "alive" or "ready"; null if the user has not given it.
  [[nodiscard]] const std::string* health() const;
  /// Whether the user has given command "report".
  [[nodiscard]] bool is_report() const { return report_.IsGiven(); }

 private:
  CommonOptions options_;
  StatusOptions status_options_;
  std::string question_ = "alive";
  CommandLine status_;
  CommandLine health_;
  CommandLine report_;
};

}  // namespace kuryr::service
