#include "cni/doctor/api_checks.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/list_pages.h"

namespace kuryr::cni::doctor {
namespace {

using nlohmann::json;
using watcher::ApiClient;
using watcher::ApiError;

constexpr const char* kApi = "API server";
constexpr const char* kKuryrPorts = "KuryrPorts";
constexpr const char* kReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

struct Right {
  const char* group;
  const char* resource;
  const char* verb;
};

std::vector<Right> RightsOf(const Config& config, bool has_kuryr_ports) {
  std::vector<Right> rights = {{"", "pods", "get"}, {"", "pods", "list"}, {"", "pods", "watch"}};
  if (has_kuryr_ports) {
    for (const char* verb : {"get", "list", "watch"})
      rights.push_back({"openstack.org", "kuryrports", verb});
  }
  if (config.reports.use_events) rights.push_back({"", "events", "create"});
  if (config.reports.network_status) rights.push_back({"", "pods", "patch"});
  return rights;
}

bool IsAllowed(ApiClient& client, const Right& right) {
  const json answer = client.Post(
      kReviews,
      {{"apiVersion", "authorization.k8s.io/v1"},
       {"kind", "SelfSubjectAccessReview"},
       {"spec",
        {{"resourceAttributes",
          {{"group", right.group}, {"resource", right.resource}, {"verb", right.verb}}}}}});
  return answer.at("status").at("allowed").get<bool>();
}

Finding CheckRights(ApiClient& client, const std::vector<Right>& rights) {
  const std::string subject = "rights";
  std::string lacking;
  for (const Right& right : rights) {
    if (IsAllowed(client, right)) continue;
    lacking += (lacking.empty() ? "" : ", ") + std::string(right.verb) + " " + right.resource;
  }
  if (lacking.empty()) {
    return {subject, Verdict::kGood, "all " + std::to_string(rights.size()) + " that are needed",
            ""};
  }
  return {subject, Verdict::kBad, "may not: " + lacking,
          "apply etc/kubernetes/base/agent/rbac.yaml, or bind its ClusterRole to this identity"};
}

bool HasKuryrPorts(ApiClient& client) {
  try {
    const json found = client.Get("/apis/openstack.org/v1");
    for (const json& resource : found.at("resources")) {
      if (StringAt(resource, "name") == "kuryrports") return true;
    }
    return false;
  } catch (const ApiError& e) {
    if (e.code() == ApiError::kNotFound) return false;
    throw;
  }
}

Finding CheckKuryrPorts(const Config& config, bool has_them) {
  if (has_them) return {kKuryrPorts, Verdict::kGood, "the API server has their definition", ""};
  const bool needed = config.vif_source == VifSource::kKuryrPort;
  return {kKuryrPorts, needed ? Verdict::kBad : Verdict::kUnknown,
          "the API server has no definition of them: plans come by annotation",
          "apply etc/kubernetes/base/kuryrport/kuryrport.yaml where plans come as KuryrPorts"};
}

Finding CheckPods(ApiClient& client, const std::string& node) {
  const std::string subject = "node's name";
  const json list =
      client.Get("/api/v1/pods?limit=1&fieldSelector=" + watcher::Escaped("spec.nodeName=" + node));
  if (!list.at("items").empty()) return {subject, Verdict::kGood, node + " has pods", ""};
  return {subject, Verdict::kUnknown, "no pod is scheduled on " + node,
          "set [kubernetes] node_name, if kubectl get nodes has another name for this node"};
}

/// Errors of the client begin with the words that doctor's line begins with.
std::string WithoutSubject(const std::string& message) {
  const std::string subject = std::string(kApi) + " ";
  return message.starts_with(subject) ? message.substr(subject.size()) : message;
}

}  // namespace

Findings CheckApi(const Config& config) {
  Findings findings;
  ApiClient client(config.api);
  try {
    const std::string version = StringAt(client.Get("/version"), "gitVersion");
    findings.push_back({kApi, Verdict::kGood, config.api.api_root + " answers, " + version, ""});
    const bool has_kuryr_ports = HasKuryrPorts(client);
    findings.push_back(CheckKuryrPorts(config, has_kuryr_ports));
    findings.push_back(CheckRights(client, RightsOf(config, has_kuryr_ports)));
    if (findings.back().verdict == Verdict::kGood)
      findings.push_back(CheckPods(client, config.node_name));
  } catch (const ApiError& e) {
    findings.push_back(
        {kApi, Verdict::kBad, config.api.api_root + " refuses: " + e.what(),
         "look at the credentials and rights that [kubernetes] of kuryr.conf names"});
  } catch (const std::exception& e) {
    findings.push_back(
        {kApi, Verdict::kBad, WithoutSubject(e.what()),
         "[kubernetes] of kuryr.conf leads to " + config.api.api_root +
             ", by api_root or kubeconfig: set the API server's address there; ssl_ca_crt_file "
             "names its authorities"});
  }
  return findings;
}

}  // namespace kuryr::cni::doctor
