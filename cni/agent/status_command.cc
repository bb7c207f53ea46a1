#include "cni/agent/status_command.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cni/protocol/agent_call.h"
#include "cni/protocol/agent_socket.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr size_t kColumns = 7;
using Row = std::array<std::string, kColumns>;

AgentReply Ask(const std::string& socket, const std::string& query, const std::string& input,
               std::chrono::seconds time) {
  const Deadline deadline = Deadline::After(time);
  AgentCall call;
  call.query = query;
  call.input = input;
  try {
    const UniqueFd agent = ConnectTo(socket, deadline);
    SendCall(agent.get(), call, deadline);
    return ReceiveReply(agent.get(), deadline);
  } catch (const std::system_error& e) {
    throw std::runtime_error("no agent answers at " + socket + ": " + e.code().message());
  }
}

json AskStatus(const std::string& socket, const std::string& pod) {
  const AgentReply reply = Ask(socket, "status", pod, 20s);
  if (reply.status != 0) throw std::runtime_error(Printable(reply.out, 1000));
  return ParseJson(reply.out, {.max_bytes = kMostMessage});
}

/// As kubectl has it: 12s, 5m, 3h, 2d.
std::string Age(int64_t seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
  if (seconds < 2 * kHour) return std::to_string(seconds / kMinute) + "m";
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + "h";
  return std::to_string(seconds / kDay) + "d";
}

json ListAt(const json& object, const char* key) { return object.value(key, json::array()); }

/// The VIF of interface `ifname`, or an empty object.
json VifOf(const json& pod, const std::string& ifname) {
  const json vifs = ListAt(pod, "vifs");
  for (const json& vif : vifs) {
    if (vif["ifname"] == ifname) return vif;
  }
  // A single one has the name that the runtime chose.
  return vifs.size() == 1 ? vifs[0] : json::object();
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
  const json& error = pod["error"];
  return Age(error["age"]) + " ago: " + std::to_string(error["code"].get<int>()) + " " +
         StringAt(error, "message");
}

/// Of a pod that has no attachment.
std::string Waiting(const json& pod) {
  if (pod.contains("undecodable")) return "bad";
  return pod.contains("vifs") ? "planned" : "no-vif";
}

std::vector<Row> RowsOf(const std::string& name, const json& pod) {
  std::vector<Row> rows;
  for (const json& attachment : ListAt(pod, "attachments")) {
    for (const json& interface : attachment["interfaces"]) {
      const std::string ifname = StringAt(interface, "ifname");
      const json vif = VifOf(pod, ifname);
      const bool inactive = vif.contains("active") && vif["active"] == false;
      rows.push_back({name, StringAt(attachment, "state") + (inactive ? ",inactive" : ""), ifname,
                      StringAt(interface, "host_interface"), StringAt(interface, "bridge"),
                      AddressesOf(vif), Age(attachment["age"])});
    }
  }
  if (rows.empty())
    rows.push_back({name, Waiting(pod), "", "", "", AddressesOf(VifOf(pod, "")), ""});
  return rows;
}

void PrintTable(const json& pods) {
  std::vector<Row> rows = {{"POD", "STATE", "INTERFACE", "HOST", "BRIDGE", "ADDRESSES", "AGE"}};
  std::vector<std::string> errors = {"LAST ERROR"};
  for (const auto& [name, pod] : pods.items()) {
    const std::vector<Row> more = RowsOf(name, pod);
    rows.insert(rows.end(), more.begin(), more.end());
    errors.resize(rows.size(), ErrorOf(pod));
  }
  std::array<size_t, kColumns> most{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) most.at(i) = std::max(most.at(i), row.at(i).size());
  }
  for (size_t line = 0; line < rows.size(); ++line) {
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string cell = rows[line].at(i).empty() ? "-" : rows[line].at(i);
      std::printf("%-*s  ", static_cast<int>(most.at(i)), cell.c_str());
    }
    std::printf("%s\n", errors[line].empty() ? "-" : errors[line].c_str());
  }
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
  const std::string error = ErrorOf(pod);
  if (!error.empty()) std::printf("  ✗ %s\n", error.c_str());
  const json attachments = ListAt(pod, "attachments");
  if (attachments.empty()) std::printf("  ✗ %s: nothing is plugged\n", Waiting(pod).c_str());
  for (const json& attachment : attachments) {
    std::printf("  container %s, network %s, %s %s ago, %s\n",
                StringAt(attachment, "container").c_str(), StringAt(attachment, "network").c_str(),
                StringAt(attachment, "state").c_str(), Age(attachment["age"]).c_str(),
                StringAt(attachment, "netns").c_str());
    for (const json& interface : attachment["interfaces"])
      well = PrintInterface(pod, interface) && well;
  }
  return well && error.empty() && !attachments.empty();
}

}  // namespace

int PrintStatus(const std::string& socket, const std::string& pod, StatusForm form) {
  const json status = AskStatus(socket, pod);
  const json& pods = status["pods"];
  if (form == StatusForm::kJson) {
    std::printf("%s\n", status.dump(2, ' ', false, json::error_handler_t::replace).c_str());
    return status["problem"].is_null() ? 0 : 1;
  }
  const std::string problem = StringAt(status, "problem");
  std::printf("node %s, kuryr-daemon %s: %s\n", StringAt(status, "node").c_str(),
              StringAt(status, "version").c_str(), problem.empty() ? "ready" : problem.c_str());
  bool well = problem.empty();
  if (pod.empty()) {
    PrintTable(pods);
  } else if (!pods.contains(pod)) {
    std::printf("%s is not on this node\n", pod.c_str());
    well = false;
  } else {
    well = PrintPath(pod, pods[pod]) && well;
  }
  return well ? 0 : 1;
}

int PrintHealth(const std::string& socket, const std::string& wanted) {
  // Open vSwitch has 5 s of that to show that it is ready.
  const auto time = wanted == "ready" ? 8s : 5s;
  const AgentReply reply = Ask(socket, wanted, "", time);
  std::printf("%s\n", Printable(reply.out, 1000).c_str());
  return reply.status == 0 ? 0 : 1;
}

}  // namespace kuryr::cni
