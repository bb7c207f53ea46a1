#pragma once

#include <cstdint>
#include <string>

#include "config/config_file.h"

namespace kuryr {

/// The options of kuryr.conf that all daemons have.
struct ProgramOptions {
  std::string health_address = "127.0.0.1";  ///< bind_address of its section
  uint32_t health_port = 0;                  ///< port of its section; 0 for none
  std::string health_socket;                 ///< socket of its section, a path; empty for none
  bool debug = false;                        ///< [DEFAULT] debug
  std::string log_file;                      ///< [DEFAULT] log_file; stderr when empty
};

/// The options of a program's health server, as the files have them.
struct HealthOptions {
  Option address;
  Option port;
  Option socket;  ///< unset for a program without a health socket
};

/// Leaves the target unchanged where the files set no option. Throws ConfigError.
void Take(const ConfigFiles& files, const HealthOptions& health, ProgramOptions& target);

}  // namespace kuryr
