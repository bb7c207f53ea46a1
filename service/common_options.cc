#include "service/common_options.h"

#include "base/log.h"
#include "config/unknown_options.h"

namespace kuryr::service {

void WarnOfUnknownOptions(const ConfigFiles& files, bool strict) {
  for (const std::string& unknown : FindUnknownOptions(files)) {
    if (strict) throw ConfigError(unknown);
    Log(LogLevel::kWarning, "kuryr.conf may contain a mistake", {{"what", unknown}});
  }
}

void SetUpLog(const CommonOptions& options, const ProgramOptions& program) {
  SetLogLevel(options.debug || program.debug ? LogLevel::kDebug : LogLevel::kInfo);
  if (!program.log_file.empty()) SetLogFile(program.log_file);
}

}  // namespace kuryr::service
