#include "controller/rounds/certificate_round.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

/// Somebody may have changed or removed what was issued.
constexpr std::chrono::seconds kLongestPause = std::chrono::hours(1);
constexpr const char* kAgent = "kuryr-daemon";

/// A key of a ConfigMap.
bool IsChassisName(const std::string& name) {
  constexpr size_t kLongest = 253;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

json ConditionOf(const std::optional<std::string>& refusal) {
  return {{"type", refusal ? "Denied" : "Approved"},
          {"status", "True"},
          {"reason", refusal ? "NoChassisOfThisNode" : "ChassisOfThisNode"},
          {"message", refusal.value_or("kuryr-controller knows the requester's node")}};
}

std::string ResourceVersionOf(const json& object) {
  return StringAt(MemberAt(object, "metadata"), "resourceVersion");
}

}  // namespace

void CertificateRound::Look(const Key& key) {
  if (!issuer_) return;
  if (key == CertificateRequests::OwnKey()) return KeepOwn(key);
  if (const auto request = requests_.Find(key.object)) Answer(*request);
}

void CertificateRound::KeepOwn(const Key& key) {
  const Issuer::Time due = issuer_->Keep();
  requests_.SetDue(due);
  const auto pause = due - std::chrono::system_clock::now();
  const auto longest = std::chrono::duration_cast<Issuer::Time::duration>(kLongestPause);
  parts_.queue.AddAfter(key, std::clamp(pause, Issuer::Time::duration::zero(), longest));
}

void CertificateRound::Answer(const CertificateRequest& request) {
  const std::string path =
      "/apis/certificates.k8s.io/v1/certificatesigningrequests/" + request.name;
  const auto refusal = WhyRefused(request);
  Log(refusal ? LogLevel::kWarning : LogLevel::kInfo,
      refusal ? "refuses a key for OVN" : "issues a key for OVN",
      {{"request", request.name},
       {"user", Printable(request.user)},
       {"why", refusal.value_or("")}});
  // An approval cannot be taken back. Whoever has given it, no certificate follows a refusal.
  if (refusal && request.approved) return;
  std::string version = request.version;
  if (!request.approved) {
    const json decided = parts_.writer.Merge(
        path + "/approval", {{"metadata", {{"resourceVersion", version}}},
                             {"status", {{"conditions", {ConditionOf(refusal)}}}}});
    version = ResourceVersionOf(decided);
  }
  if (refusal) return;
  parts_.writer.PatchStatus(
      path, {{"metadata", {{"resourceVersion", version}}},
             {"status", {{"certificate", EncodeBase64(issuer_->SignForNode(request.request))}}}});
}

std::optional<std::string> CertificateRound::WhyRefused(const CertificateRequest& request) {
  std::string chassis;
  try {
    chassis = certificates::NameIn(request.request);
  } catch (const certificates::CertificateError& e) {
    return e.what();
  }
  if (!IsChassisName(chassis)) return "the common name is no name of a chassis";
  const std::string node = NodeOf(request);
  if (node.empty()) return "the requester has no token of a kuryr-daemon's pod";
  if (!issuer_->Bind(chassis, node))
    return "chassis " + chassis +
           " is another node's (ConfigMap ovn-chassis): give each node a system-id of its own";
  return std::nullopt;
}

std::string CertificateRound::NodeOf(const CertificateRequest& request) {
  const std::string& name_space = parts_.needs.certificates->name_space;
  if (request.pod.empty() || request.user != "system:serviceaccount:" + name_space + ":" + kAgent)
    return "";
  try {
    const json pod = parts_.view.GetPod(name_space, request.pod);
    if (StringAt(MemberAt(pod, "metadata"), "uid") != request.pod_uid) return "";
    return StringAt(MemberAt(pod, "spec"), "nodeName");
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kNotFound) throw;
    return "";
  }
}

}  // namespace kuryr::controller
