#include "controller/certificates/issuer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "base/log.h"
#include "certificates/file_set.h"
#include "certificates/signing.h"

namespace kuryr::controller {
namespace {

using certificates::CertificateFacts;
using certificates::Identity;
using nlohmann::json;

constexpr std::chrono::seconds kAuthorityLifetime = std::chrono::days(3650);
constexpr const char* kNodesFile = "nodes.crt";

/// A value of a Secret; empty where it has none.
std::string SecretAt(const json& secret, const std::string& name) {
  return DecodeBase64(StringAt(MemberAt(secret, "data"), name.c_str())).value_or("");
}

/// When a new one is due; now, where the identity is none of the authority's.
CertificateFacts::Time DueOf(const Identity& identity, const std::string& authority) {
  if (!certificates::IsIssuedBy(identity, authority)) return {};
  return certificates::ReadCertificate(identity.certificate).RenewalAt();
}

bool IsDue(CertificateFacts::Time renewal) { return renewal <= std::chrono::system_clock::now(); }

Identity AuthorityIn(const json& secret, const std::string& name) {
  return {.key = SecretAt(secret, name + ".key"), .certificate = SecretAt(secret, name + ".crt")};
}

void LogIssued(const std::string& name) {
  Log(LogLevel::kInfo, "has issued a key of OVN", {{"name", name}});
}

}  // namespace

std::string Issuer::PathOf(const char* resource, const char* name) const {
  return "/api/v1/namespaces/" + wanted_.name_space + "/" + resource + "/" + name;
}

void Issuer::Store(const std::string& path, const json& object, const json& data) {
  const json& metadata = MemberAt(object, "metadata");
  writer_.Merge(path, {{"metadata", {{"resourceVersion", StringAt(metadata, "resourceVersion")}}},
                       {"data", data}});
}

Issuer::Time Issuer::Keep() {
  const Authorities authorities = KeepAuthorities();
  const Time central = KeepCentral(authorities);
  Publish(authorities);
  return std::min(central, KeepOwn(authorities));
}

Issuer::Authorities Issuer::KeepAuthorities() {
  const std::string path = PathOf("secrets", "ovn-tls-authority");
  const json secret = view_.Get(path);
  json data = json::object();
  const auto keep = [&](const std::string& name) {
    Identity authority = AuthorityIn(secret, name);
    if (!IsDue(DueOf(authority, authority.certificate))) return authority;
    authority = certificates::MakeAuthority("authority of OVN's " + name, kAuthorityLifetime);
    data[name + ".key"] = EncodeBase64(authority.key);
    data[name + ".crt"] = EncodeBase64(authority.certificate);
    LogIssued("authority of OVN's " + name);
    return authority;
  };
  Authorities authorities = {.central = keep("central"), .nodes = keep("nodes")};
  if (!data.empty()) Store(path, secret, data);
  return authorities;
}

Issuer::Time Issuer::KeepCentral(const Authorities& authorities) {
  const std::string path = PathOf("secrets", "ovn-tls-central");
  const json secret = view_.Get(path);
  Identity identity = {.key = SecretAt(secret, certificates::kKeyFile),
                       .certificate = SecretAt(secret, certificates::kCertificateFile)};
  const std::string& ca = authorities.central.certificate;
  const Time due = DueOf(identity, ca);
  if (!IsDue(due) && SecretAt(secret, certificates::kAuthorityFile) == ca &&
      SecretAt(secret, kNodesFile) == authorities.nodes.certificate)
    return due;
  identity = certificates::Issue(authorities.central, "ovn-central", wanted_.lifetime);
  Store(path, secret,
        {{certificates::kKeyFile, EncodeBase64(identity.key)},
         {certificates::kCertificateFile, EncodeBase64(identity.certificate)},
         {certificates::kAuthorityFile, EncodeBase64(ca)},
         {kNodesFile, EncodeBase64(authorities.nodes.certificate)}});
  LogIssued("ovn-central");
  return DueOf(identity, ca);
}

void Issuer::Publish(const Authorities& authorities) {
  const std::string path = PathOf("configmaps", "ovn-authority");
  const json map = view_.Get(path);
  const json data = {{certificates::kAuthorityFile, authorities.central.certificate},
                     {kNodesFile, authorities.nodes.certificate}};
  if (MemberAt(map, "data") != data) Store(path, map, data);
}

Issuer::Time Issuer::KeepOwn(const Authorities& authorities) {
  const certificates::FileSet files(wanted_.folder);
  std::map<std::string, std::string> there = files.Read();
  const std::string& ca = authorities.central.certificate;
  const Identity identity = {.key = there[certificates::kKeyFile],
                             .certificate = there[certificates::kCertificateFile]};
  const Time due = DueOf(identity, ca);
  if (!IsDue(due) && there[certificates::kAuthorityFile] == ca) return due;
  const Identity issued =
      certificates::Issue(authorities.central, "kuryr-controller", wanted_.lifetime);
  files.Write({{certificates::kKeyFile, issued.key},
               {certificates::kCertificateFile, issued.certificate},
               {certificates::kAuthorityFile, ca}});
  LogIssued("kuryr-controller");
  return DueOf(issued, ca);
}

std::string Issuer::SignForNode(const std::string& request) {
  return certificates::Sign(KeepAuthorities().nodes, request, wanted_.lifetime);
}

bool Issuer::Bind(const std::string& chassis, const std::string& node) {
  const std::string path = PathOf("configmaps", "ovn-chassis");
  const json map = view_.Get(path);
  const json& nodes = MemberAt(map, "data");
  const std::string bound = StringAt(nodes, chassis.c_str());
  if (bound == node) return true;
  if (!bound.empty() && !view_.IsNodeGone(bound)) return false;
  json changes = {{chassis, node}};
  for (const auto& [former, owner] : nodes.items()) {
    if (owner == node) changes[former] = nullptr;
  }
  Store(path, map, changes);
  return true;
}

}  // namespace kuryr::controller
