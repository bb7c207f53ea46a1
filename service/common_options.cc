#include "service/common_options.h"

#include "base/log.h"

namespace kuryr::service {

void SetUpLog(const CommonOptions& options, const ProgramOptions& program) {
  SetLogLevel(options.debug || program.debug ? LogLevel::kDebug : LogLevel::kInfo);
  if (!program.log_file.empty()) SetLogFile(program.log_file);
}

}  // namespace kuryr::service
