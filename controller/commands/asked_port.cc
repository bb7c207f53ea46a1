#include "controller/commands/asked_port.h"

#include <charconv>
#include <stdexcept>

#include "base/error.h"

namespace kuryr::controller {

AskedPort PortOf(const std::string& text) {
  const size_t slash = text.find('/');
  AskedPort port{.protocol = text.substr(0, slash)};
  const bool is_known = port.protocol == "tcp" || port.protocol == "udp" || port.protocol == "sctp";
  const char* const last = text.data() + text.size();
  const char* const first = slash == std::string::npos ? last : text.data() + slash + 1;
  const auto [end, error] = std::from_chars(first, last, port.number);
  if (!is_known || error != std::errc() || end != last || port.number == 0)
    throw std::runtime_error("\"" + Printable(text) +
                             "\" is no port; expected tcp/80, udp/53 or sctp/9");
  return port;
}

}  // namespace kuryr::controller
