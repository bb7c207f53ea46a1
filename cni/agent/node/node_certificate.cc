#include "cni/agent/node/node_certificate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/base64.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "binding/node/chassis.h"
#include "certificates/certificate.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr const char* kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
constexpr std::chrono::seconds kSwitchTime{5};
/// How soon a change of chassis or authority is seen.
constexpr std::chrono::seconds kPause = std::chrono::hours(1);
constexpr std::chrono::seconds kSigningTime{60};
/// kube-controller-manager removes an answered request after an hour.
constexpr std::chrono::seconds kRequestLife = std::chrono::minutes(50);

class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The name by which ovn-controller knows the node.
std::string ChassisOf(const NodeContext& node) {
  const auto settings = binding::FindChassis(node.binding.context(), Deadline::After(kSwitchTime));
  const auto id = std::find_if(settings.begin(), settings.end(),
                               [](const auto& each) { return each.key == "system-id"; });
  if (id == settings.end())
    throw std::runtime_error("external_ids:system-id of Open vSwitch is not set yet");
  return id->value;
}

json RequestFor(const std::string& node, const std::string& request) {
  return {{"apiVersion", "certificates.k8s.io/v1"},
          {"kind", "CertificateSigningRequest"},
          {"metadata", {{"generateName", "ovn-controller-" + node + "-"}}},
          {"spec",
           {{"signerName", "kuryr.openstack.org/ovn-controller"},
            {"usages", {"digital signature", "client auth"}},
            {"request", EncodeBase64(request)}}}};
}

/// The certificate; empty while there is no answer.
std::string AnswerIn(const json& request) {
  const json& status = MemberAt(request, "status");
  for (const json& condition : MemberAt(status, "conditions")) {
    const std::string type = StringAt(condition, "type");
    if (type == "Denied" || type == "Failed")
      throw Refused("kuryr-controller refuses: " + Printable(StringAt(condition, "message"), 300));
  }
  return DecodeBase64(StringAt(status, "certificate")).value_or("");
}

}  // namespace

NodeCertificate::NodeCertificate(const NodeContext& node, const Config& config)
    : node_(node),
      config_(config),
      files_(config.state_dir / certificates::kOvnFolder),
      client_(config.api) {}

void NodeCertificate::Start() {
  if (!config_.chassis.issues_certificates) return;
  due_ = std::chrono::system_clock::now();
  chore_.emplace(
      "keep the node's key for OVN", [] { return true; },
      [this](service::Chore& chore) { Keep(chore); });
  chore_->Want();
}

void NodeCertificate::WriteTo(service::MetricsText& text) const {
  const std::chrono::duration<double> overdue = std::chrono::system_clock::now() - due_.load();
  text.Metric("kuryr_daemon_ovn_certificate_overdue_seconds", "gauge",
              "Since when the node's key for OVN should be replaced; 0 where it has none.",
              std::max(overdue.count(), 0.0));
}

void NodeCertificate::Keep(service::Chore& chore) {
  const std::string chassis = ChassisOf(node_);
  if (!IsGood(chassis)) Renew(chassis);
  due_ = certificates::ReadCertificate(files_.Read()[certificates::kCertificateFile]).RenewalAt();
  const auto pause = due_.load() - std::chrono::system_clock::now();
  chore.Want(std::clamp<std::chrono::nanoseconds>(pause, std::chrono::seconds(1), kPause));
}

bool NodeCertificate::IsGood(const std::string& chassis) const {
  std::map<std::string, std::string> files = files_.Read();
  const certificates::Identity identity = {.key = files[certificates::kKeyFile],
                                           .certificate = files[certificates::kCertificateFile]};
  try {
    const auto facts = certificates::ReadCertificate(identity.certificate);
    const auto authority = ReadFile(config_.chassis.node_authority, FileOwner::kAnybody);
    return facts.name == chassis && facts.RenewalAt() > std::chrono::system_clock::now() &&
           (!authority || certificates::IsIssuedBy(identity, *authority));
  } catch (const certificates::CertificateError&) {
    return false;  // none yet, or a file that was cut off
  }
}

void NodeCertificate::Renew(const std::string& chassis) {
  if (!pending_ || pending_->chassis != chassis ||
      pending_->until < std::chrono::system_clock::now())
    pending_ = Ask(chassis);
  const std::string certificate = Await(pending_->name);
  files_.Write(
      {{certificates::kKeyFile, pending_->key}, {certificates::kCertificateFile, certificate}});
  pending_.reset();
  Log(LogLevel::kInfo, "has a new key for OVN's southbound database", {{"chassis", chassis}});
}

NodeCertificate::Pending NodeCertificate::Ask(const std::string& chassis) {
  const certificates::KeyRequest wanted = certificates::MakeRequest(chassis);
  const json made = client_.Post(kRequests, RequestFor(config_.node_name, wanted.request));
  return {.chassis = chassis,
          .key = wanted.key,
          .name = StringAt(MemberAt(made, "metadata"), "name"),
          .until = std::chrono::system_clock::now() + kRequestLife};
}

std::string NodeCertificate::Await(const std::string& name) {
  std::string certificate;
  std::string lines;
  const auto look = [&](std::string_view bytes) {
    lines += bytes;
    for (size_t end; certificate.empty(); lines.erase(0, end + 1)) {
      end = lines.find('\n');
      if (end == std::string::npos) return true;
      certificate = AnswerIn(MemberAt(ParseJson(lines.substr(0, end)), "object"));
    }
    return false;
  };
  // Version 0: the request as it is comes first.
  const std::string watch = "?watch=true&resourceVersion=0&fieldSelector=metadata.name%3D";
  try {
    client_.Stream(kRequests + watch + name, {.lifetime = kSigningTime, .silence = kSigningTime},
                   look);
  } catch (const Refused&) {
    pending_.reset();
    throw;
  }
  if (certificate.empty())
    throw std::runtime_error("no kuryr-controller has answered CertificateSigningRequest " + name);
  return certificate;
}

}  // namespace kuryr::cni
