#include "controller/election/api_time.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string_view>

namespace kuryr::controller {

using std::chrono::seconds;
using std::chrono::sys_seconds;

std::optional<sys_seconds> ParseTime(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  std::string_view rest(end);
  while (rest.size() > 1 && (rest[0] == '.' || std::isdigit(static_cast<unsigned char>(rest[0]))))
    rest.remove_prefix(1);
  if (rest != "Z") return std::nullopt;
  return sys_seconds(seconds(::timegm(&parts)));
}

seconds AgeOf(sys_seconds time) {
  const auto now = std::chrono::floor<seconds>(std::chrono::system_clock::now());
  return std::max(now - time, seconds(0));
}

}  // namespace kuryr::controller
