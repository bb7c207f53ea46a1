#pragma once

#include <cstdint>
#include <string>

namespace kuryr::controller {

/// A port of a command line, such as "tcp/80", "udp/53" or "sctp/9".
struct AskedPort {
  std::string protocol;
  uint16_t number = 0;
};

/// Throws std::runtime_error for another text.
[[nodiscard]] AskedPort PortOf(const std::string& text);

}  // namespace kuryr::controller
