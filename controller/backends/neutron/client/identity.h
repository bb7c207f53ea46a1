#pragma once

#include <string>

namespace kuryr::controller::neutron {

/// A user or project of Keystone: by id, or by name in a domain.
struct KeystoneName {
  std::string id;
  std::string name;
  std::string domain_id;
  std::string domain_name;

  [[nodiscard]] bool empty() const noexcept { return id.empty() && name.empty(); }
};

/// The controller's identity for Keystone v3. Holds secrets, which no message shows.
struct Identity {
  enum class Method {
    kNone,  ///< no Keystone: Neutron takes every request (noauth)
    kPassword,
    kApplicationCredential,
    kToken,  ///< one that was made elsewhere, and is exchanged for one of the project
  };

  Method method = Method::kPassword;
  std::string auth_url;  ///< http(s)://HOST[:PORT][/PATH]/v3
  KeystoneName user;
  std::string password;
  KeystoneName project;     ///< none for an application credential, which has its own
  KeystoneName credential;  ///< an application credential; by name it needs the user
  std::string credential_secret;
  std::string token;
};

}  // namespace kuryr::controller::neutron
