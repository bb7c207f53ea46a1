#include "config/program_options.h"

#include <filesystem>

namespace kuryr {
namespace {

void TakeHealthSocket(const Option& option, std::string& target) {
  constexpr size_t kLongestPath = 107;  // unix(7)
  if (!option.set()) return;
  std::filesystem::path path;
  Take(option, path);
  target = path.string();
  if (target.size() > kLongestPath)
    Refuse(option.where, "more than " + std::to_string(kLongestPath) + " bytes");
}

}  // namespace

void Take(const ConfigFiles& files, const HealthOptions& health, ProgramOptions& target) {
  constexpr uint32_t kMostPort = 65535;
  Take(health.address, target.health_address);
  Take(health.port, target.health_port, 0, kMostPort);
  TakeHealthSocket(health.socket, target.health_socket);
  Take(files.Find("DEFAULT", "debug"), target.debug);
  Take(files.Find("DEFAULT", "log_file"), target.log_file);
}

}  // namespace kuryr
