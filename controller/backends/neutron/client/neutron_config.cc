#include "controller/backends/neutron/client/neutron_config.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "controller/backends/neutron/client/clouds_file.h"
#include "controller/backends/neutron/client/url.h"

namespace kuryr::controller::neutron {
namespace {

using Method = Identity::Method;

constexpr const char* kNeutron = "neutron";

/// keystoneauth's names of the plugins that we know, and of those that choose one by the server.
constexpr std::pair<const char*, Method> kMethods[] = {
    {"password", Method::kPassword},
    {"v3password", Method::kPassword},
    {"v3applicationcredential", Method::kApplicationCredential},
    {"token", Method::kToken},
    {"v3token", Method::kToken},
    {"none", Method::kNone},
    {"noauth", Method::kNone}};

/// kuryr.conf, and below it a cloud or the environment.
class Layers {
 public:
  Layers(const ConfigFiles& files, const GetEnv& getenv) : files_(files), getenv_(getenv) {
    if (const Option cloud = Cloud(); cloud.set()) {
      cloud_ = LoadCloud(*cloud.value, getenv);
      from_environment_ = false;
    } else {
      from_environment_ = !HasServer();
    }
  }

  [[nodiscard]] Option Find(const char* section, const char* name) const {
    Option own = files_.Find(section, name);
    if (own.set()) return own;
    if (const auto found = cloud_.find(name); found != cloud_.end()) return found->second;
    if (!from_environment_) return own;
    Option variable = Variable(getenv_, VariableOf(name).c_str());
    return variable.set() ? variable : own;
  }

 private:
  [[nodiscard]] bool HasServer() const {
    return files_.Find(kNeutron, "auth_url").set() || files_.Find(kNeutron, "auth_type").set();
  }
  /// That of the environment counts where kuryr.conf names no server.
  [[nodiscard]] Option Cloud() const {
    Option cloud = files_.Find(kNeutron, "cloud");
    return cloud.set() || HasServer() ? cloud : Variable(getenv_, "OS_CLOUD");
  }
  /// OpenStack's clients have other names for three of them.
  [[nodiscard]] static std::string VariableOf(const std::string& name) {
    if (name == "cafile") return "OS_CACERT";
    if (name == "certfile") return "OS_CERT";
    if (name == "keyfile") return "OS_KEY";
    std::string variable = "OS_" + name;
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    return variable;
  }

  const ConfigFiles& files_;
  const GetEnv& getenv_;
  CloudOptions cloud_;
  bool from_environment_ = false;
};

void TakeSecret(const Option& option, std::string& target) {
  if (!option.set()) return;
  target = *option.value;
  const bool legible =
      std::all_of(target.begin(), target.end(), [](unsigned char c) { return c >= ' '; });
  if (!legible) Refuse(option.where, "holds control characters");
}

void TakeUrl(const Option& option, std::string& target) {
  if (!option.set()) return;
  target = *option.value;
  try {
    (void)ParseUrl(target);
  } catch (const ParseError& e) {
    Refuse(option.where, e.reason());
  }
  while (target.ends_with('/')) target.pop_back();
}

/// Password and secret need their owner, so that no file passes for complete that is not.
void Require(const Option& option, bool given, const std::string& why) {
  if (!given) Refuse(option.where, "is not set; " + why);
}

void TakeName(const Option& id, const Option& name, KeystoneName& target) {
  Take(id, target.id);
  Take(name, target.name);
}

void TakeDomain(const Option& id, const Option& name, KeystoneName& target) {
  Take(id, target.domain_id);
  Take(name, target.domain_name);
}

void TakeUser(const Layers& layers, Identity& identity) {
  TakeName(layers.Find(kNeutron, "user_id"), layers.Find(kNeutron, "username"), identity.user);
  TakeDomain(layers.Find(kNeutron, "user_domain_id"), layers.Find(kNeutron, "user_domain_name"),
             identity.user);
  TakeSecret(layers.Find(kNeutron, "password"), identity.password);
}

void TakeProject(const Layers& layers, Identity& identity) {
  TakeName(layers.Find(kNeutron, "project_id"), layers.Find(kNeutron, "project_name"),
           identity.project);
  TakeDomain(layers.Find(kNeutron, "project_domain_id"),
             layers.Find(kNeutron, "project_domain_name"), identity.project);
}

void TakeCredential(const Layers& layers, Identity& identity) {
  TakeName(layers.Find(kNeutron, "application_credential_id"),
           layers.Find(kNeutron, "application_credential_name"), identity.credential);
  TakeSecret(layers.Find(kNeutron, "application_credential_secret"), identity.credential_secret);
}

/// As keystoneauth does where neither id nor name of a domain is given.
void TakeDefaultDomain(const Layers& layers, Identity& identity) {
  std::string id;
  Take(layers.Find(kNeutron, "default_domain_id"), id);
  for (KeystoneName* name : {&identity.user, &identity.project}) {
    if (name->domain_id.empty() && name->domain_name.empty()) name->domain_id = id;
  }
}

Method MethodOf(const Layers& layers) {
  const Option type = layers.Find(kNeutron, "auth_type");
  if (!type.set()) return Method::kPassword;
  for (const auto& [name, method] : kMethods) {
    if (*type.value == name) return method;
  }
  Refuse(type.where, "\"" + Printable(*type.value) +
                         "\"; expected password, v3applicationcredential, token or none");
}

void RequireDomain(const Layers& layers, const KeystoneName& name, const char* option) {
  const bool given = !name.id.empty() || !name.domain_id.empty() || !name.domain_name.empty();
  if (!given)
    Refuse(layers.Find(kNeutron, "auth_type").where, std::string("needs ") + option +
                                                         "_domain_name or " + option +
                                                         "_domain_id, or else default_domain_id");
}

void CheckUser(const Layers& layers, const Identity& identity) {
  Require(layers.Find(kNeutron, "username"), !identity.user.empty(),
          "auth_type = password needs a user");
  Require(layers.Find(kNeutron, "password"), !identity.password.empty(),
          "auth_type = password needs it");
  RequireDomain(layers, identity.user, "user");
}

void CheckProject(const Layers& layers, const Identity& identity) {
  Require(layers.Find(kNeutron, "project_name"), !identity.project.empty(),
          "Neutron's ports belong to a project");
  RequireDomain(layers, identity.project, "project");
}

void CheckCredential(const Layers& layers, const Identity& identity) {
  Require(layers.Find(kNeutron, "application_credential_id"), !identity.credential.empty(),
          "auth_type = v3applicationcredential needs it");
  Require(layers.Find(kNeutron, "application_credential_secret"),
          !identity.credential_secret.empty(), "auth_type = v3applicationcredential needs it");
  if (!identity.credential.id.empty()) return;
  Require(layers.Find(kNeutron, "username"), !identity.user.empty(),
          "a credential's name is the user's; application_credential_id needs no user");
  RequireDomain(layers, identity.user, "user");
}

void CheckIdentity(const Layers& layers, const NeutronConfig& config) {
  const Identity& identity = config.identity;
  if (identity.method == Method::kNone) {
    Require(layers.Find(kNeutron, "endpoint_override"), !config.endpoint_override.empty(),
            "auth_type = none has no catalog to find Neutron in");
    return;
  }
  Require(layers.Find(kNeutron, "auth_url"), !identity.auth_url.empty(),
          "name Keystone, or a cloud of clouds.yaml");
  if (identity.method == Method::kApplicationCredential) return CheckCredential(layers, identity);
  if (identity.method == Method::kPassword) {
    CheckUser(layers, identity);
  } else {
    Require(layers.Find(kNeutron, "token"), !identity.token.empty(), "auth_type = token needs it");
  }
  CheckProject(layers, identity);
}

Identity ReadIdentity(const Layers& layers) {
  Identity identity{.method = MethodOf(layers)};
  TakeUrl(layers.Find(kNeutron, "auth_url"), identity.auth_url);
  if (!identity.auth_url.empty()) identity.auth_url = WithVersion(identity.auth_url, "v3");
  TakeUser(layers, identity);
  TakeProject(layers, identity);
  TakeCredential(layers, identity);
  TakeSecret(layers.Find(kNeutron, "token"), identity.token);
  TakeDefaultDomain(layers, identity);
  return identity;
}

/// keystoneauth's list, its older name for one of them, and Kuryr's.
void TakeInterfaces(const Layers& layers, std::vector<std::string>& interfaces) {
  Option option = layers.Find(kNeutron, "valid_interfaces");
  if (!option.set()) option = layers.Find(kNeutron, "interface");
  if (!option.set()) option = layers.Find(kNeutron, "endpoint_type");
  if (!option.set()) return;
  Take(option, interfaces);
  for (std::string& name : interfaces) {
    if (name.ends_with("URL")) name.resize(name.size() - 3);
    if (name != "public" && name != "internal" && name != "admin")
      Refuse(option.where, "\"" + Printable(name) + "\"; expected public, internal or admin");
  }
}

void TakeAccess(const Layers& layers, ServerAccess& access) {
  constexpr uint32_t kLongest = 3600;
  TakeFile(layers.Find(kNeutron, "cafile"), access.ca_file);
  TakeFile(layers.Find(kNeutron, "certfile"), access.cert_file);
  TakeFile(layers.Find(kNeutron, "keyfile"), access.key_file);
  bool insecure = false;
  Take(layers.Find(kNeutron, "insecure"), insecure);
  access.verify = !insecure;
  Take(layers.Find(kNeutron, "timeout"), access.timeout, kLongest);
}

}  // namespace

NeutronConfig ReadNeutronConfig(const ConfigFiles& files, const GetEnv& getenv) {
  constexpr uint32_t kMostRequests = 64;
  constexpr uint32_t kMostRate = 10'000;
  const Layers layers(files, getenv);
  NeutronConfig config{.identity = ReadIdentity(layers)};
  TakeUrl(layers.Find(kNeutron, "endpoint_override"), config.endpoint_override);
  Take(layers.Find(kNeutron, "region_name"), config.region_name);
  TakeInterfaces(layers, config.interfaces);
  TakeAccess(layers, config.access);
  Take(files.Find(kNeutron, "max_requests"), config.max_requests, 1, kMostRequests);
  Take(files.Find(kNeutron, "request_rate"), config.request_rate, 0, kMostRate);
  CheckIdentity(layers, config);
  return config;
}

void WarnOfInsecureNeutron(const NeutronConfig& config) {
  if (!config.access.verify) {
    Log(LogLevel::kWarning, "certificates of Keystone and Neutron are not verified",
        {{"switched_off_by", "[neutron] insecure"}});
  }
  if (config.identity.method != Method::kNone && !ParseUrl(config.identity.auth_url).tls) {
    Log(LogLevel::kWarning, "Keystone is sent credentials in clear text; name it with https",
        {{"auth_url", config.identity.auth_url}});
  }
}

}  // namespace kuryr::controller::neutron
