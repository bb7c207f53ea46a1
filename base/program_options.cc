#include "base/program_options.h"

#include <filesystem>

namespace kuryr {

void Take(const ConfigFiles& files, const Option& health_address, const Option& health_port,
          ProgramOptions& target) {
  constexpr uint32_t kMostPort = 65535;
  Take(health_address, target.health_address);
  Take(health_port, target.health_port, 0, kMostPort);
  Take(files.Find("DEFAULT", "debug"), target.debug);
  Take(files.Find("DEFAULT", "log_file"), target.log_file);
}

void TakeHealthSocket(const Option& option, ProgramOptions& target) {
  constexpr size_t kLongestPath = 107;  // unix(7)
  if (!option.set()) return;
  std::filesystem::path path;
  Take(option, path);
  target.health_socket = path.string();
  if (target.health_socket.size() > kLongestPath)
    Refuse(option.where, "more than " + std::to_string(kLongestPath) + " bytes");
}

}  // namespace kuryr
