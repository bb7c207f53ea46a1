#include "cni/agent/status_command.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cni/agent/node/node_status_text.h"
#include "cni/protocol/agent_query.h"
#include "service/table.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

using Row = std::vector<std::string>;

json AskStatus(const std::string& socket, const std::string& pod) {
  const AgentReply reply = QueryAgent(socket, "status", pod, 20s);
  if (reply.status != 0) throw std::runtime_error(Printable(reply.out, 1000));
  return ParseJson(reply.out, {.max_bytes = kMostMessage});
}

std::string AgeOf(const json& object) {
  return service::Age(std::chrono::seconds(object.at("age").get<int64_t>()));
}

json ListAt(const json& object, const char* key) { return object.value(key, json::array()); }

/// The VIF of interface `ifname`, or an empty object.
json VifOf(const json& pod, const std::string& ifname) {
  const json vifs = ListAt(pod, "vifs");
  for (const json& vif : vifs) {
    if (StringAt(vif, "ifname") == ifname) return vif;
  }
  // A single one has the name that the runtime chose.
  return vifs.size() == 1 ? vifs.at(0) : json::object();
}

std::string AddressesOf(const json& vif) {
  std::string text;
  for (const json& address : ListAt(vif, "addresses"))
    text += (text.empty() ? "" : ",") + address.get<std::string>();
  return text;
}

std::string ErrorOf(const json& pod) {
  if (pod.contains("undecodable")) return "undecodable: " + StringAt(pod, "undecodable");
  if (!pod.contains("error")) return "";
  const json& error = pod.at("error");
  return AgeOf(error) + " ago: " + StringAt(error, "command") + " " +
         std::to_string(error.at("code").get<int>()) + " " + StringAt(error, "message");
}

std::string AwaitedOf(const json& attachment) {
  const std::string what = StringAt(attachment, "awaits");
  return what.empty() ? "" : "waits " + AgeOf(attachment) + " for " + what;
}

/// Prints what the pod waits for, and its last failure.
std::string RemarkOf(const json& pod) {
  std::string remark;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) remark += (remark.empty() ? "" : "; ") + text;
  };
  for (const json& attachment : ListAt(pod, "attachments")) add(AwaitedOf(attachment));
  add(ErrorOf(pod));
  return remark;
}

/// Prints a pod that has no interface.
std::string Waiting(const json& pod) {
  if (!pod.contains("uid")) return "unknown";
  if (pod.contains("undecodable")) return "bad";
  return pod.contains("vifs") ? "planned" : "no-vif";
}

std::vector<Row> RowsOf(const std::string& name, const json& pod) {
  std::vector<Row> rows;
  std::string age;
  for (const json& attachment : ListAt(pod, "attachments")) {
    age = AgeOf(attachment);
    for (const json& interface : ListAt(attachment, "interfaces")) {
      const std::string ifname = StringAt(interface, "ifname");
      const json vif = VifOf(pod, ifname);
      const bool inactive = !vif.value("active", true);
      rows.push_back({name, StringAt(attachment, "state") + (inactive ? ",inactive" : ""), ifname,
                      StringAt(interface, "host_interface"), StringAt(interface, "bridge"),
                      AddressesOf(vif), age});
    }
  }
  if (rows.empty())
    rows.push_back({name, Waiting(pod), "", "", "", AddressesOf(VifOf(pod, "")), age});
  return rows;
}

void PrintTable(const json& pods) {
  std::vector<Row> rows = {
      {"POD", "STATE", "INTERFACE", "HOST", "BRIDGE", "ADDRESSES", "AGE", "LAST ERROR"}};
  for (const auto& [name, pod] : pods.items()) {
    for (Row& row : RowsOf(name, pod)) {
      row.push_back(RemarkOf(pod));
      rows.push_back(std::move(row));
    }
  }
  std::printf("%s", service::Table(std::move(rows)).c_str());
}

/// One interface: pod ── host ── bridge; what is wrong stands below. True when all is well.
bool PrintInterface(const json& pod, const json& interface) {
  const json vif = VifOf(pod, StringAt(interface, "ifname"));
  std::string path = StringAt(interface, "ifname");
  for (const char* part : {"host_interface", "bridge"}) {
    const std::string name = StringAt(interface, part);
    if (!name.empty()) path += " ── " + name;
  }
  std::printf("    %s   (%s)\n", path.c_str(), StringAt(interface, "driver").c_str());
  std::printf("      %s %s, port %s, %s\n", StringAt(vif, "mac").c_str(), AddressesOf(vif).c_str(),
              StringAt(vif, "port").c_str(), vif.value("active", false) ? "active" : "not active");
  const std::string problem = StringAt(interface, "problem");
  if (problem.empty()) return true;
  std::printf("      ✗ %s\n", problem.c_str());
  return false;
}

bool PrintPath(const std::string& name, const json& pod) {
  std::printf("%s  %s\n", name.c_str(), StringAt(pod, "uid").c_str());
  bool well = true;
  const std::string remark = RemarkOf(pod);
  if (!remark.empty()) std::printf("  ✗ %s\n", remark.c_str());
  const json attachments = ListAt(pod, "attachments");
  if (attachments.empty()) std::printf("  ✗ %s: nothing is plugged\n", Waiting(pod).c_str());
  for (const json& attachment : attachments) {
    std::printf("  container %s, network %s, %s %s ago, %s\n",
                StringAt(attachment, "container").c_str(), StringAt(attachment, "network").c_str(),
                StringAt(attachment, "state").c_str(), AgeOf(attachment).c_str(),
                StringAt(attachment, "netns").c_str());
    for (const json& interface : ListAt(attachment, "interfaces"))
      well = PrintInterface(pod, interface) && well;
  }
  return well && remark.empty() && !attachments.empty();
}

std::string HeadingOf(const json& status, const std::string& problem) {
  if (!problem.empty()) return problem;
  const json node_network = status.value("node_network", json());
  const bool is_as_planned = !node_network.is_object() || ListAt(node_network, "problems").empty();
  return is_as_planned ? "ready" : "ready to plug pods, but the node's network is not as planned";
}

}  // namespace

int PrintStatus(const std::string& socket, const service::StatusOptions& wanted) {
  const std::string& pod = wanted.pod;
  const json status = AskStatus(socket, pod);
  const json& pods = status.at("pods");
  if (wanted.as_json) {
    service::PrintJson(status);
    return status.at("problem").is_null() ? 0 : 1;
  }
  const std::string problem = StringAt(status, "problem");
  std::printf("node %s, kuryr-daemon %s: %s\n", StringAt(status, "node").c_str(),
              StringAt(status, "version").c_str(), HeadingOf(status, problem).c_str());
  const std::string http_problem = StringAt(status, "http_problem");
  if (!http_problem.empty()) std::printf("nobody can %s\n", http_problem.c_str());
  bool well = problem.empty();
  if (pod.empty()) {
    well = PrintNodeNetwork(status.value("node_network", json())) && well;
    PrintTable(pods);
  } else if (!pods.contains(pod)) {
    std::printf("%s is not on this node\n", pod.c_str());
    well = false;
  } else {
    well = PrintPath(pod, pods.at(pod)) && well;
  }
  return well ? 0 : 1;
}

int PrintHealth(const std::string& socket, const std::string& wanted) {
  // Open vSwitch has 5 s of that to show that it is ready.
  const auto time = wanted == "ready" ? 8s : 5s;
  const AgentReply reply = QueryAgent(socket, wanted, "", time);
  std::printf("%s\n", Printable(reply.out, 1000).c_str());
  return reply.status == 0 ? 0 : 1;
}

int PrintPolicies(const std::string& socket, const service::StatusOptions& asked) {
  const AgentReply reply = QueryAgent(socket, "policy", asked.pod, 20s);
  if (asked.as_json) {
    service::PrintJson({{"pod", asked.pod}, {"in_effect", reply.status == 0}, {"text", reply.out}});
  } else {
    std::printf("%s\n", reply.out.c_str());
  }
  return reply.status == 0 ? 0 : 1;
}

std::vector<service::ReportPart> AgentParts(const std::function<std::string()>& find_socket) {
  std::vector<service::ReportPart> parts = {
      {"status", [find_socket] { return AskStatus(find_socket(), ""); }}};
  for (const char* query : {"alive", "ready", "metrics"}) {
    parts.push_back({query, [find_socket, query] {
                       return service::LinesOf(QueryAgent(find_socket(), query, "", 8s).out);
                     }});
  }
  return parts;
}

}  // namespace kuryr::cni
