#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "cni/agent/agent.h"
#include "cni/attachments/record_check.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

/// The time that all drivers' checks of one pod have.
constexpr std::chrono::seconds kCheckTime{5};
/// How long the error of a pod is kept that the API server does not know: [kubernetes] node_name
/// may be wrong.
constexpr std::chrono::minutes kKeptError{5};

json Describe(const vif::PodVif& pod_vif) {
  const vif::VifBase& vif = vif::Common(pod_vif.vif);
  json addresses = json::array();
  for (const IpNetwork& address : vif::AddressesOf(vif))
    addresses.push_back(address.address.ToString());
  return {{"ifname", pod_vif.ifname},
          {"port", vif.id.value_or("")},
          {"mac", vif.address.has_value() ? vif.address->ToString() : ""},
          {"active", vif::IsActive(pod_vif)},
          {"addresses", std::move(addresses)}};
}

/// Adds the pod's VIFs as the API server has them.
void AddPlan(const PlannedPod& known, json& pod) {
  pod["uid"] = known.uid;
  if (!known.plan) return;
  if (known.plan->problem) pod["undecodable"] = known.plan->problem->what();
  for (const vif::PodVif& vif : known.plan->read) pod["vifs"].push_back(Describe(vif));
}

/// Adds the pod's VIFs as they were at its ADD, where the agent has not asked for its KuryrPort.
void AddPlan(const AttachmentRecord& record, json& pod) {
  if (!record.added || pod.contains("vifs") || pod.contains("undecodable")) return;
  for (const vif::PodVif& vif : record.vifs) pod["vifs"].push_back(Describe(vif));
}

/// The first difference between what the ADD made and what is there; null when there is none.
json FindProblem(const NodeContext& node, const AttachmentRecord& record, size_t index,
                 const Deadline& deadline) {
  if (index >= record.vifs.size()) return nullptr;
  try {
    const auto pod = FindNetnsOf(record);
    if (!pod)
      return "the pod's namespace " + record.netns + " is gone, or cannot be seen from here";
    const auto differences = RecordCheck(node.binding, record, *pod, deadline).Check(index);
    return differences.empty() ? json(nullptr) : json(differences.front().text);
  } catch (const std::exception& e) {
    return e.what();
  }
}

json Describe(const AttachmentRecord& record) {
  json object = {{"network", record.key.network},
                 {"container", record.key.container_id},
                 {"ifname", record.key.ifname},
                 {"netns", record.netns},
                 {"state", record.added ? "plugged" : "plugging"},
                 {"interfaces", json::array()}};
  for (const binding::Plug& plug : record.plugs) {
    object["interfaces"].push_back({{"ifname", plug.ifname},
                                    {"host_interface", plug.host_interface},
                                    {"bridge", plug.bridge},
                                    {"driver", plug.driver}});
  }
  return object;
}

/// Names what the ADD at work on the record waits for; null where it does not wait.
json AwaitedFor(const AttachmentRecord& record, const json& pod) {
  if (pod.contains("undecodable")) return nullptr;
  if (!pod.contains("uid")) return "the API server to tell of the pod";
  if (!pod.contains("vifs"))
    return "annotation " + std::string(vif::kVifAnnotation) + ", or a KuryrPort";
  const auto& vifs = pod.at("vifs");
  const auto inactive = std::find_if(vifs.begin(), vifs.end(),
                                     [](const json& vif) { return vif.at("active") == false; });
  if (inactive == vifs.end() || record.plugs.empty()) return nullptr;
  return "port " + StringAt(*inactive, "port") + " to become active";
}

void AddErrors(const std::map<std::string, LastErrors::Entry>& errors, json& pods) {
  for (const auto& [pod, error] : errors) {
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(LastErrors::Clock::now() - error.at);
    if (!pods.contains(pod) && age > kKeptError) continue;
    pods[pod]["error"] = {{"command", ToString(error.command)},
                          {"code", static_cast<int>(error.code)},
                          {"message", error.message},
                          {"age", age.count()}};
    if (error.command != Command::kDel || !pods[pod].contains("attachments")) continue;
    for (json& attachment : pods[pod]["attachments"]) {
      if (attachment["container"] == error.container_id) attachment["state"] = "unplugging";
    }
  }
}

json OrNull(const std::optional<std::string>& text) { return text ? json(*text) : json(nullptr); }

AgentReply ReplyOf(const std::optional<std::string>& problem,
                   const std::optional<std::string>& http_problem) {
  if (problem) return {.status = 1, .out = *problem};
  return {.status = 0, .out = http_problem ? "ok, but nobody can " + *http_problem : "ok"};
}

}  // namespace

std::string Agent::StatusJson(const std::string& wanted,
                              const std::optional<std::string>& http_problem) const {
  json pods = json::object();
  for (const PlannedPod& pod : registry_.pods())
    AddPlan(pod, pods[PodRegistry::KeyOf(pod.name_space, pod.name)]);
  const std::vector<AttachmentKey> leftovers = sweep_.left();
  for (const AttachmentKey& key : attachments_.List()) {
    const auto record = attachments_.Find(key);
    if (!record) continue;
    json attachment = Describe(*record);
    if (std::find(leftovers.begin(), leftovers.end(), key) != leftovers.end())
      attachment["state"] = "leftover";
    attachment["age"] = attachments_.AgeOf(key).count();
    if (attachment["state"] == "plugging")
      attachment["awaits"] = AwaitedFor(*record, pods[record->pod]);
    AddPlan(*record, pods[record->pod]);
    if (record->pod == wanted) {
      const Deadline deadline = Deadline::After(kCheckTime);
      for (size_t i = 0; i < record->plugs.size(); ++i)
        attachment["interfaces"][i]["problem"] = FindProblem(node_, *record, i, deadline);
    }
    pods[record->pod]["attachments"].push_back(std::move(attachment));
  }
  AddErrors(errors_.All(), pods);
  if (!wanted.empty()) {
    const auto found = pods.find(wanted);
    pods = found == pods.end() ? json::object() : json{{wanted, *found}};
  }
  return json{{"node", config_.node_name},
              {"version", KURYR_VERSION},
              {"problem", OrNull(WhyNotReady())},
              {"http_problem", OrNull(http_problem)},
              {"node_network", node_network_.Describe()},
              {"pods", std::move(pods)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

AgentReply Agent::AnswerQuery(const AgentCall& call,
                              const std::optional<std::string>& http_problem) const {
  try {
    if (call.query == "alive") return ReplyOf(WhyNotAlive(), http_problem);
    if (call.query == "ready") return ReplyOf(WhyNotReady(), http_problem);
    if (call.query == "status") return {.status = 0, .out = StatusJson(call.input, http_problem)};
    if (call.query == "metrics") return {.status = 0, .out = Metrics()};
    if (call.query == "policy") return policies_.Describe(call.input);
    return {.status = 1, .out = "there is no query \"" + Printable(call.query) + "\""};
  } catch (const std::exception& e) {
    return {.status = 1, .out = e.what()};
  }
}

}  // namespace kuryr::cni
