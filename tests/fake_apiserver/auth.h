#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

struct User {
  /// The name; also the common name of this user's client certificate.
  std::string name;
  std::string token;
  /// "get", "patch", ...; "patch:pods" for one resource only; "*" for everything.
  std::vector<std::string> verbs = {"*"};
};

/// The users and their rights. Thread-safe.
class Auth {
 public:
  /// Without users, every client may do everything.
  explicit Auth(std::vector<User> users) : users_(std::move(users)) {}

  void SetUsers(std::vector<User> users) EXCLUDES(mutex_);

  /// The user that sent the request: by the token, else by the certificate, else system:anonymous,
  /// who may do nothing. Throws Refusal (401) for an unknown token.
  [[nodiscard]] User Identify(const HttpRequest& request, const std::string& certificate_name) const
      EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::vector<User> users_ GUARDED_BY(mutex_);
};

[[nodiscard]] bool IsAllowed(const User& user, const RequestInfo& info);

}  // namespace kuryr::fake
