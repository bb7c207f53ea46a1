#include "cni/plugin/exec_plugin.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/names.h"
#include "cni/attachments/attachment_store.h"
#include "cni/config.h"
#include "cni/plugin/sandbox.h"
#include "cni/plugin/serve.h"
#include "cni/protocol/error.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kWords = {"init", "setup", "teardown", "status"};
constexpr const char* kIfname = "eth0";

/// The pod and the container of setup, teardown and status.
struct Sandbox {
  std::string name_space;
  std::string pod;
  std::string container_id;
};

std::string Variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

[[noreturn]] void RefuseFile(const std::string& file, const std::string& why) {
  throw CniError(ErrorCode::kInvalidConfig, file + ": " + why);
}

/// Our entry of the list, made a plugin's configuration as runtimes do it.
json EntryOf(const json& list, const std::string& file) {
  for (const json& plugin : list.at("plugins")) {
    if (StringAt(plugin, "type") != "kuryr-cni") continue;
    json config = plugin;
    config["name"] = list.at("name");
    config["cniVersion"] = list.value("cniVersion", "");
    return config;
  }
  RefuseFile(file, "has no plugin of type kuryr-cni");
}

json ReadNetworkConfig() {
  const std::string file = Variable("NETCONFPATH", "/etc/cni/net.d") + "/10-kuryr.conflist";
  const auto text = ReadFile(file, FileOwner::kAnybody);
  if (!text) return {{"cniVersion", "1.0.0"}, {"name", "kuryr"}, {"type", "kuryr-cni"}};
  try {
    return EntryOf(ParseJson(*text), file);
  } catch (const ParseError& e) {
    RefuseFile(file, e.what());
  } catch (const json::exception& e) {
    RefuseFile(file, Printable(e.what(), 200));
  }
}

Sandbox SandboxOf(const std::vector<std::string>& arguments) {
  constexpr size_t kLeast = 4;
  if (arguments.size() < kLeast) {
    throw CniError(ErrorCode::kInvalidEnvironment,
                   "expected: " + arguments.front() + " NAMESPACE POD CONTAINER_ID");
  }
  Sandbox sandbox = {arguments[1], arguments[2], arguments[3]};
  for (const std::string& name : {sandbox.name_space, sandbox.pod}) {
    if (IsDnsName(name)) continue;
    throw CniError(ErrorCode::kInvalidEnvironment,
                   Printable(name) + " is no name of a Kubernetes namespace or pod");
  }
  return sandbox;
}

Request RequestFor(Command command, const Sandbox& sandbox, const std::string& netns,
                   const json& config) {
  const std::string args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=" + sandbox.name_space +
                           ";K8S_POD_NAME=" + sandbox.pod +
                           ";K8S_POD_INFRA_CONTAINER_ID=" + sandbox.container_id;
  return ParseRequest({.command = ToString(command),
                       .container_id = sandbox.container_id,
                       .netns = netns,
                       .ifname = kIfname,
                       .args = args,
                       .path = Variable("CNI_PATH", "/opt/cni/bin"),
                       .netns_override = std::nullopt},
                      config.dump());
}

Config LoadConfigFor(const NetworkConfig& network, ConfigScope scope) {
  std::vector<std::string> files;
  if (!network.kuryr_conf.empty()) files.push_back(network.kuryr_conf);
  return LoadConfig(files, [](const char* name) { return std::getenv(name); }, scope);
}

/// The first fixed IP of the default VIF, from the ADD's record.
std::string Status(const Sandbox& sandbox, const NetworkConfig& network) {
  const AttachmentStore attachments(
      LoadConfigFor(network, ConfigScope::kWithoutKubernetes).state_dir);
  const auto record = attachments.Find({network.name, sandbox.container_id, kIfname});
  if (!record || !record->added) {
    throw CniError(ErrorCode::kUnknownContainer,
                   "container " + Printable(sandbox.container_id) + " is not attached");
  }
  for (const vif::PodVif& pod_vif : record->vifs) {
    if (!pod_vif.is_default) continue;
    const std::vector<IpNetwork> addresses = vif::AddressesOf(vif::Common(pod_vif.vif));
    if (addresses.empty()) break;
    const nlohmann::ordered_json status = {{"kind", "PodNetworkStatus"},
                                           {"apiVersion", "v1beta1"},
                                           {"ip", addresses.front().address.ToString()}};
    return status.dump();
  }
  throw CniError(ErrorCode::kUnknownContainer,
                 "container " + Printable(sandbox.container_id) + " has no address");
}

/// Serves the request. An error that the agent answers becomes an exception.
void ServeOrThrow(const Request& request, int cancel_fd) {
  const AgentReply reply = cni::Serve(request, {}, cancel_fd);
  if (reply.status == 0) return;
  const json error = ParseJson(reply.out);
  throw CniError(static_cast<ErrorCode>(error.at("code").get<int>()), StringAt(error, "msg"),
                 StringAt(error, "details"));
}

}  // namespace

bool IsExecCall(const std::vector<std::string>& arguments) {
  return !arguments.empty() &&
         std::find(kWords.begin(), kWords.end(), arguments.front()) != kWords.end();
}

std::string ServeExec(const std::vector<std::string>& arguments, int cancel_fd) {
  const std::string& word = arguments.front();
  const json config = ReadNetworkConfig();
  if (word == "init") {
    // The kubelet learns of a malformed configuration when it starts, before any pod.
    (void)LoadConfigFor(ParseNetworkConfig(ParseInput(config.dump()), Command::kAdd),
                        ConfigScope::kAll);
    return {};
  }
  const Sandbox sandbox = SandboxOf(arguments);
  if (word == "setup") {
    const std::string netns = FindSandbox(sandbox.container_id);
    ServeOrThrow(RequestFor(Command::kAdd, sandbox, netns, config), cancel_fd);
    return {};
  }
  // The container may be gone by now.
  const Request request = RequestFor(Command::kDel, sandbox, {}, config);
  if (word == "status") return Status(sandbox, request.config);
  ServeOrThrow(request, cancel_fd);
  return {};
}

}  // namespace kuryr::cni
