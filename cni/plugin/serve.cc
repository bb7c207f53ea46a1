#include "cni/plugin/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cni/add.h"
#include "cni/check.h"
#include "cni/config.h"
#include "cni/del.h"
#include "cni/gc.h"
#include "cni/plugin/api_server_events.h"
#include "cni/status.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

/// Runtimes kill an ADD after 240 s; an answer with a reason must come before that, and undoing
/// takes time, too.
constexpr std::chrono::seconds kLongestAdd = 220s;
constexpr std::chrono::seconds kLongestOther = 60s;
/// Runtimes ask every few seconds, and wait for the answer.
constexpr std::chrono::seconds kLongestStatus = 5s;

/// What the command needs to know of the API server.
ConfigScope ScopeOf(const Request& request) {
  const bool asks_it = request.command == Command::kAdd || request.command == Command::kStatus;
  return asks_it && !request.config.local ? ConfigScope::kAll : ConfigScope::kWithoutKubernetes;
}

std::chrono::seconds LongestFor(Command command, const Config& config) {
  if (command == Command::kAdd) return std::min(config.vif_annotation_timeout, kLongestAdd);
  return command == Command::kStatus ? kLongestStatus : kLongestOther;
}

/// What the network configuration says to the drivers.
void TakeLocal(const LocalNetwork& local, binding::BindingConfig& binding) {
  if (local.kind == LocalNetwork::Kind::kOvs) binding.port_vlan = local.vlan;
  if (local.kind == LocalNetwork::Kind::kBridge && local.hairpin_mode)
    binding.hairpin = binding::HairpinMode::kHairpinVeth;
}

void SetUpLog(const Request& request, const Config& config) {
  if (request.config.debug || config.debug) SetLogLevel(LogLevel::kDebug);
  if (!config.log_file.empty()) SetLogFile(config.log_file);
  if (!config.api.verify_server) {
    Log(LogLevel::kWarning, "the API server's certificate is not verified",
        {{"switched_off_by", config.unverified_by}});
  }
}

}  // namespace

std::string Serve(const Request& request, std::vector<std::string> config_files, int cancel_fd) {
  if (request.command == Command::kVersion) return VersionJson(request.config.cni_version);
  if (!request.config.kuryr_conf.empty()) config_files.push_back(request.config.kuryr_conf);
  Config config = LoadConfig(
      std::move(config_files), [](const char* name) { return std::getenv(name); },
      ScopeOf(request));
  if (request.config.local) TakeLocal(*request.config.local, config.binding);
  SetUpLog(request, config);
  const std::chrono::seconds time = LongestFor(request.command, config);
  config.api.connect_timeout = std::min(config.api.connect_timeout, time);
  const Deadline deadline = Deadline::After(time, cancel_fd);

  binding::Binding binding(config.binding);
  AttachmentStore attachments(config.state_dir);
  const Node node = {.binding = binding, .attachments = attachments};
  switch (request.command) {
    case Command::kAdd: {
      ApiServerEvents events(config.api);
      return Add(request, node, events, deadline).dump();
    }
    case Command::kDel:
      Del(request, node, deadline);
      break;
    case Command::kCheck:
      Check(request, node, deadline);
      break;
    case Command::kGc:
      Gc(request, node, deadline);
      break;
    case Command::kStatus:
      Status(request, config, node, deadline);
      break;
    case Command::kVersion:
      break;
  }
  return {};
}

}  // namespace kuryr::cni
