#include "controller/backends/neutron/client/token.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "controller/backends/neutron/client/answer_object.h"

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;
using vif::Path;

/// By id where that is known; a name needs its domain.
json EncodeName(const KeystoneName& name) {
  if (!name.id.empty()) return {{"id", name.id}};
  json domain = json::object();
  if (!name.domain_id.empty()) {
    domain["id"] = name.domain_id;
  } else {
    domain["name"] = name.domain_name;
  }
  return {{"name", name.name}, {"domain", domain}};
}

json PasswordOf(const Identity& identity) {
  json user = EncodeName(identity.user);
  user["password"] = identity.password;
  return {{"methods", {"password"}}, {"password", {{"user", user}}}};
}

json CredentialOf(const Identity& identity) {
  json credential = {{"secret", identity.credential_secret}};
  if (!identity.credential.id.empty()) {
    credential["id"] = identity.credential.id;
  } else {
    credential["name"] = identity.credential.name;
    credential["user"] = EncodeName(identity.user);
  }
  return {{"methods", {"application_credential"}}, {"application_credential", credential}};
}

json TokenOf(const Identity& identity) {
  return {{"methods", {"token"}}, {"token", {{"id", identity.token}}}};
}

/// One second of a day, as Keystone writes it: 2026-11-22T18:41:27.000000Z.
struct Instant {
  std::chrono::sys_seconds time;

  static std::optional<Instant> Parse(const std::string& text) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (end == nullptr) return std::nullopt;
    const std::string_view rest(end);
    const size_t zone = rest.find_first_not_of(".0123456789");
    if (zone == std::string_view::npos || rest.substr(zone) != "Z") return std::nullopt;
    return Instant{std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)))};
  }
};

struct CatalogEndpoint {
  std::string interface;
  std::string region;
  std::string url;
};

CatalogEndpoint EndpointOf(const json& value, const Path& path) {
  const AnswerObject object(value, path);
  std::string region = object.Text("region_id");
  if (region.empty()) region = object.Text("region");
  return {.interface = object.Text("interface"), .region = region, .url = object.Text("url")};
}

/// The endpoints of all services of type network.
std::vector<CatalogEndpoint> EndpointsOf(const AnswerObject& token) {
  std::vector<CatalogEndpoint> all;
  (void)token.List("catalog", [&](const json& value, const Path& path) {
    const AnswerObject service(value, path);
    if (service.Text("type") != "network") return false;
    for (CatalogEndpoint& endpoint : service.List("endpoints", EndpointOf))
      all.push_back(std::move(endpoint));
    return true;
  });
  return all;
}

[[noreturn]] void RefuseCatalog(const Path& path, const EndpointChoice& choice,
                                const std::vector<CatalogEndpoint>& endpoints) {
  std::set<std::string> there;
  for (const CatalogEndpoint& endpoint : endpoints)
    there.insert(endpoint.region + "/" + endpoint.interface);
  std::string list;
  for (const std::string& one : there) list += (list.empty() ? "" : ", ") + one;
  std::string wanted;
  for (const std::string& one : choice.interfaces) wanted += (wanted.empty() ? "" : " or ") + one;
  path.Refuse("has no endpoint of type network, interface " + wanted +
              (choice.region.empty() ? "" : ", region " + Printable(choice.region)) +
              "; there are: " + (list.empty() ? "none" : Printable(list, 300)) +
              ". See [neutron] region_name and valid_interfaces");
}

std::string NeutronUrlOf(const AnswerObject& token, const EndpointChoice& choice) {
  const std::vector<CatalogEndpoint> endpoints = EndpointsOf(token);
  for (const std::string& interface : choice.interfaces) {
    const auto found =
        std::find_if(endpoints.begin(), endpoints.end(), [&](const CatalogEndpoint& endpoint) {
          const bool in_region = choice.region.empty() || endpoint.region == choice.region;
          return endpoint.interface == interface && in_region && !endpoint.url.empty();
        });
    if (found != endpoints.end()) return found->url;
  }
  RefuseCatalog(Path(token.path(), "catalog"), choice, endpoints);
}

}  // namespace

json TokenRequestOf(const Identity& identity) {
  json auth = json::object();
  switch (identity.method) {
    case Identity::Method::kNone:
      break;
    case Identity::Method::kPassword:
      auth["identity"] = PasswordOf(identity);
      break;
    case Identity::Method::kApplicationCredential:
      // It has its own project.
      auth["identity"] = CredentialOf(identity);
      return {{"auth", auth}};
    case Identity::Method::kToken:
      auth["identity"] = TokenOf(identity);
      break;
  }
  if (!identity.project.empty()) auth["scope"] = {{"project", EncodeName(identity.project)}};
  return {{"auth", auth}};
}

TokenAnswer DecodeTokenAnswer(std::string_view body, const EndpointChoice& choice) {
  constexpr const char* kTime = "a time (2026-11-22T18:41:27.000000Z)";
  const json document = ParseJson(body, {.max_bytes = size_t{16} << 20});
  const std::string dollar = "$";
  const Path root(dollar);
  const AnswerObject object(document, root);
  const Path path(root, "token");
  if (object.Find("token") == nullptr) object.RefuseMissing("token", "an object");
  const AnswerObject token(*object.Find("token"), path);
  const auto issued = token.Required<Instant>("issued_at", kTime);
  const auto expires = token.Required<Instant>("expires_at", kTime);
  TokenAnswer answer{.lifetime = expires.time - issued.time};
  if (answer.lifetime <= std::chrono::seconds(0))
    Path(path, "expires_at").Refuse("is not after issued_at");
  if (const json* project = token.Find("project"))
    answer.project_id = AnswerObject(*project, Path(path, "project")).Text("id");
  if (!choice.interfaces.empty()) answer.neutron_url = NeutronUrlOf(token, choice);
  return answer;
}

}  // namespace kuryr::controller::neutron
