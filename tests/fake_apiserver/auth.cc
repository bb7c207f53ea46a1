#include "tests/fake_apiserver/auth.h"

#include <algorithm>

#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {

void Auth::SetUsers(std::vector<User> users) {
  const MutexLock lock(mutex_);
  users_ = std::move(users);
}

User Auth::Identify(const HttpRequest& request, const std::string& certificate_name) const {
  const MutexLock lock(mutex_);
  if (users_.empty()) return {.name = "system:admin"};

  const std::string header = request.Header("authorization");
  if (header.starts_with("Bearer ")) {
    const std::string token = header.substr(7);
    const auto found = std::find_if(users_.begin(), users_.end(), [&](const User& user) {
      return !user.token.empty() && user.token == token;
    });
    if (found == users_.end()) throw Unauthorized();
    return *found;
  }
  if (certificate_name.empty()) return {.name = "system:anonymous", .verbs = {}};
  const auto found = std::find_if(users_.begin(), users_.end(),
                                  [&](const User& user) { return user.name == certificate_name; });
  return found != users_.end() ? *found : User{.name = certificate_name, .verbs = {}};
}

bool IsAllowed(const User& user, const RequestInfo& info) {
  const std::string with_resource = info.verb + ":" + info.resource->plural;
  return std::any_of(user.verbs.begin(), user.verbs.end(), [&](const std::string& verb) {
    return verb == "*" || verb == info.verb || verb == with_resource;
  });
}

}  // namespace kuryr::fake
