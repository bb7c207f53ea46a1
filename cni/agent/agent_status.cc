#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "binding/l3.h"
#include "binding/netns.h"
#include "cni/agent/agent.h"
#include "cni/event_vifs.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

/// For all drivers' checks of one pod.
constexpr std::chrono::seconds kCheckTime{5};

json Describe(const vif::PodVif& pod_vif) {
  const vif::VifBase& vif = vif::Common(pod_vif.vif);
  json addresses = json::array();
  for (const auto& address : binding::PlanL3(vif, pod_vif.is_default).addresses)
    addresses.push_back(address.network.address.ToString());
  return {{"ifname", pod_vif.ifname},
          {"port", vif.id.value_or("")},
          {"mac", vif.address.has_value() ? vif.address->ToString() : ""},
          {"active", vif.active.value_or(false)},
          {"addresses", std::move(addresses)}};
}

/// What the API server shows of the pod.
void AddPlan(const watcher::WatchEvent& event, json& pod) {
  pod["uid"] = event.uid;
  try {
    const auto vifs = VifsOf(event);
    if (!vifs) return;
    for (const vif::PodVif& vif : *vifs) pod["vifs"].push_back(Describe(vif));
  } catch (const ParseError& e) {
    pod["undecodable"] = e.what();
  }
}

/// The first difference between what the ADD made and what is there; null when there is none.
json FindProblem(const Node& node, const AttachmentRecord& record, size_t index,
                 const Deadline& deadline) {
  if (index >= record.vifs.size()) return nullptr;
  try {
    const auto pod = binding::Netns::OpenIfExists(record.netns);
    if (!pod || pod->id() != record.netns_id)
      return "the pod's namespace " + record.netns + " is gone, or cannot be seen from here";
    const auto problem =
        node.binding.Check(record.vifs[index].vif, record.plugs[index], record.attachment(), *pod,
                           record.vifs[index].is_default, deadline);
    return problem ? json(*problem) : json(nullptr);
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

AgentReply ReplyOf(const std::optional<std::string>& problem) {
  return {.status = problem ? 1 : 0, .out = problem.value_or("ok")};
}

}  // namespace

std::string Agent::StatusJson(const std::string& wanted) const {
  json pods = json::object();
  for (const watcher::WatchEvent& event : registry_.pods())
    AddPlan(event, pods[PodRegistry::KeyOf(event.name_space, event.name)]);
  const std::vector<AttachmentKey> leftovers = sweep_.left();
  for (const AttachmentKey& key : attachments_.List()) {
    const auto record = attachments_.Find(key);
    if (!record) continue;
    json attachment = Describe(*record);
    if (std::find(leftovers.begin(), leftovers.end(), key) != leftovers.end())
      attachment["state"] = "leftover";
    attachment["age"] = attachments_.AgeOf(key).count();
    if (record->pod == wanted) {
      const Deadline deadline = Deadline::After(kCheckTime);
      for (size_t i = 0; i < record->plugs.size(); ++i)
        attachment["interfaces"][i]["problem"] = FindProblem(node_, *record, i, deadline);
    }
    pods[record->pod]["attachments"].push_back(std::move(attachment));
  }
  for (const auto& [pod, error] : errors_.All()) {
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(LastErrors::Clock::now() - error.at);
    pods[pod]["error"] = {
        {"code", static_cast<int>(error.code)}, {"message", error.message}, {"age", age.count()}};
  }
  if (!wanted.empty()) {
    const auto found = pods.find(wanted);
    pods = found == pods.end() ? json::object() : json{{wanted, *found}};
  }
  const auto problem = WhyNotReady();
  return json{{"node", config_.node_name},
              {"version", KURYR_VERSION},
              {"problem", problem ? json(*problem) : json(nullptr)},
              {"pods", std::move(pods)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

AgentReply Agent::AnswerQuery(const AgentCall& call) const {
  try {
    if (call.query == "alive") return ReplyOf(WhyNotAlive());
    if (call.query == "ready") return ReplyOf(WhyNotReady());
    if (call.query == "status") return {.status = 0, .out = StatusJson(call.input)};
    return {.status = 1, .out = "there is no query \"" + Printable(call.query) + "\""};
  } catch (const std::exception& e) {
    return {.status = 1, .out = e.what()};
  }
}

}  // namespace kuryr::cni
