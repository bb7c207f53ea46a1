#include "base/ovsdb_remotes.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace kuryr {

std::vector<std::string> FindUnprotected(const std::string& connection) {
  constexpr std::array kLocal = {"tcp:127.", "tcp:[::1]", "tcp:localhost:"};
  std::vector<std::string> found;
  std::istringstream remotes(connection);
  for (std::string remote; std::getline(remotes >> std::ws, remote, ',');) {
    const bool is_local = std::any_of(kLocal.begin(), kLocal.end(),
                                      [&](const char* local) { return remote.starts_with(local); });
    if (remote.starts_with("tcp:") && !is_local) found.push_back(remote);
  }
  return found;
}

}  // namespace kuryr
