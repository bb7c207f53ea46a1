#include "policy/policy_pod.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;

void AddPorts(const json& container, std::vector<PolicyPod::NamedPort>& ports) {
  for (const json& port : MemberAt(container, "ports")) {
    PolicyPod::NamedPort named{.name = {.protocol = "tcp", .name = StringAt(port, "name")}};
    const std::string protocol = StringAt(port, "protocol");
    if (protocol == "UDP") named.name.protocol = "udp";
    if (protocol == "SCTP") named.name.protocol = "sctp";
    const json& number = MemberAt(port, "containerPort");
    if (named.name.name.empty() || !number.is_number_integer()) continue;
    named.number = static_cast<uint16_t>(number.get<int64_t>());
    if (named.number == number) ports.push_back(std::move(named));
  }
}

}  // namespace

Labels LabelsOf(const json& object) {
  Labels labels;
  for (const auto& [key, value] : MemberAt(MemberAt(object, "metadata"), "labels").items()) {
    if (value.is_string()) labels.emplace(key, value.get<std::string>());
  }
  return labels;
}

std::optional<PolicyPod> PolicyPodOf(const json& pod) {
  const json& metadata = MemberAt(pod, "metadata");
  const json& spec = MemberAt(pod, "spec");
  if (MemberAt(spec, "hostNetwork") == true) return std::nullopt;
  PolicyPod facts{.uid = StringAt(metadata, "uid"),
                  .name_space = StringAt(metadata, "namespace"),
                  .labels = LabelsOf(pod),
                  .ports = {}};
  for (const json& container : MemberAt(spec, "containers")) AddPorts(container, facts.ports);
  for (const json& container : MemberAt(spec, "initContainers")) {
    if (StringAt(container, "restartPolicy") == "Always") AddPorts(container, facts.ports);
  }
  return facts;
}

}  // namespace kuryr::policy
