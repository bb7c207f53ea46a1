#include "controller/cluster/certificate_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

/// The first of an attribute's values.
std::string ExtraAt(const json& spec, const char* name) {
  const json& values = MemberAt(MemberAt(spec, "extra"), name);
  return values.is_array() && !values.empty() && values.front().is_string()
             ? values.front().get<std::string>()
             : "";
}

bool HasCondition(const json& status, const std::string& type) {
  const json& conditions = MemberAt(status, "conditions");
  return conditions.is_array() &&
         std::any_of(conditions.begin(), conditions.end(),
                     [&](const json& each) { return StringAt(each, "type") == type; });
}

bool IsAnswered(const json& status) {
  return !StringAt(status, "certificate").empty() || HasCondition(status, "Denied") ||
         HasCondition(status, "Failed");
}

}  // namespace

std::vector<WatchedPath> CertificateRequests::Paths() {
  if (!is_wanted_) return {};
  return {{.path = std::string("/apis/certificates.k8s.io/v1/certificatesigningrequests"
                               "?fieldSelector=spec.signerName%3D") +
                   kSigner,
           .forbidden = "certificatesigningrequests of nodes, which get no key for OVN"}};
}

void CertificateRequests::BeginTerm(const Term& /*term*/) {
  if (!is_wanted_) return;
  due_ = std::chrono::system_clock::now();
  wake_(OwnKey());
  const MutexLock lock(mutex_);
  for (const auto& [key, request] : open_) wake_({kKind, key});
}

void CertificateRequests::WriteTo(service::MetricsText& text) const {
  if (!is_wanted_) return;
  const std::chrono::duration<double> overdue = std::chrono::system_clock::now() - due_.load();
  text.Metric("kuryr_controller_ovn_certificate_overdue_seconds", "gauge",
              "Since when one of the keys for OVN, which the leader issues, should be replaced.",
              std::max(overdue.count(), 0.0));
}

std::optional<CertificateRequest> CertificateRequests::Find(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = open_.find(key);
  return found == open_.end() ? std::nullopt : std::optional(found->second);
}

void CertificateRequests::OnPresent(const watcher::WatchEvent& event) {
  const json& spec = MemberAt(*event.object, "spec");
  const json& status = MemberAt(*event.object, "status");
  if (IsAnswered(status)) return OnDeleted(event);
  const std::string key = KeyOf("", event.name);
  {
    const MutexLock lock(mutex_);
    open_[key] = {.name = event.name,
                  .version = event.resource_version,
                  .user = StringAt(spec, "username"),
                  .pod = ExtraAt(spec, "authentication.kubernetes.io/pod-name"),
                  .pod_uid = ExtraAt(spec, "authentication.kubernetes.io/pod-uid"),
                  .request = DecodeBase64(StringAt(spec, "request")).value_or(""),
                  .approved = HasCondition(status, "Approved")};
  }
  wake_({kKind, key});
}

void CertificateRequests::OnDeleted(const watcher::WatchEvent& event) {
  const MutexLock lock(mutex_);
  open_.erase(KeyOf("", event.name));
}

}  // namespace kuryr::controller
