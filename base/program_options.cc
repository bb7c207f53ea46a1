#include "base/program_options.h"

namespace kuryr {

void Take(const ConfigFiles& files, const Option& health_address, const Option& health_port,
          ProgramOptions& target) {
  constexpr uint32_t kMostPort = 65535;
  Take(health_address, target.health_address);
  Take(health_port, target.health_port, 0, kMostPort);
  Take(files.Find("DEFAULT", "debug"), target.debug);
  Take(files.Find("DEFAULT", "log_file"), target.log_file);
}

}  // namespace kuryr
