#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

struct User {
  /// Also the common name of the client certificate that stands for this user.
  std::string name;
  std::string token;
  /// "get", "patch", ...; "patch:pods" for one resource only; "*" for everything.
  std::vector<std::string> verbs = {"*"};
};

/// Who may do what. Thread-safe.
class Auth {
 public:
  /// Without users everybody may do everything.
  explicit Auth(std::vector<User> users) : users_(std::move(users)) {}

  void SetUsers(std::vector<User> users) EXCLUDES(mutex_);

  /// Who sent the request: by the token, else by the certificate, else system:anonymous, who may
  /// do nothing. Throws Refusal (401) for a token that nobody has.
  [[nodiscard]] User Identify(const HttpRequest& request, const std::string& certificate_name) const
      EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::vector<User> users_ GUARDED_BY(mutex_);
};

[[nodiscard]] bool IsAllowed(const User& user, const RequestInfo& info);

}  // namespace kuryr::fake
