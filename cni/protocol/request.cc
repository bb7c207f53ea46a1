#include "cni/protocol/request.h"

#include <nlohmann/json.hpp>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

/// The first version of the specification that has the command.
SpecVersion FirstWith(Command command) {
  if (command == Command::kCheck) return SpecVersion::k040;
  const bool newest = command == Command::kGc || command == Command::kStatus;
  return newest ? SpecVersion::k110 : SpecVersion::k010;
}

void RequireCommandIn(const NetworkConfig& config, Command command) {
  const SpecVersion first = FirstWith(command);
  if (config.version >= first) return;
  throw CniError(ErrorCode::kIncompatibleVersion,
                 std::string(ToString(command)) + " does not exist in CNI " +
                     std::string(ToString(config.version)),
                 "it needs cniVersion " + std::string(ToString(first)) + " or newer");
}

void RequireFields(const Request& request) {
  if (request.command == Command::kCheck && !request.config.prev_result)
    throw CniError(ErrorCode::kInvalidConfig, "CHECK without prevResult",
                   "the runtime has to pass the result of the ADD");
  if (request.command == Command::kGc && !request.config.valid_attachments)
    throw CniError(ErrorCode::kInvalidConfig, "GC without cni.dev/valid-attachments",
                   "nothing is collected without a list of what is still valid");
}

/// The pod for log lines; empty when its names are invalid, since a DEL must not fail for them.
PodArgs NamedPod(const std::string& text) {
  try {
    const Args args = ParseArgs(text);
    RequirePod(args.pod);
    return args.pod;
  } catch (const CniError&) {
    return {};
  }
}

void TakeArgs(Request& request) {
  if (request.command == Command::kDel) {
    request.pod = NamedPod(request.args);
    return;
  }
  const Args args = ParseArgs(request.args);
  if (request.command != Command::kAdd) return;
  if (!request.config.standalone) RequirePod(args.pod);
  request.pod = args.pod;
  request.wishes = ParseWishes(request.config.json, args);
}

}  // namespace

Request ParseRequest(const Environment& environment, std::string_view input) {
  Request request;
  request.command = ParseCommand(environment.command.value_or(""));
  if (request.command == Command::kVersion) {
    request.config.cni_version = AnswerVersion(input);
    return request;
  }
  CheckEnvironment(request.command, environment);
  request.container_id = environment.container_id.value_or("");
  request.netns = environment.netns.value_or("");
  request.ifname = environment.ifname.value_or("");
  request.args = environment.args.value_or("");
  request.path = environment.path.value_or("");
  const std::string& override_text = environment.netns_override.value_or("");
  request.netns_override = override_text == "1" || override_text == "true";

  request.config = ParseNetworkConfig(ParseInput(input), request.command);
  RequireCommandIn(request.config, request.command);
  RequireFields(request);
  TakeArgs(request);
  return request;
}

std::string AnswerVersion(std::string_view input) {
  std::string newest(kSupportedVersions.back());
  try {
    const std::string version = VersionField(ParseInput(input));
    return version.empty() ? newest : version;
  } catch (const CniError&) {
    return newest;
  }
}

std::string VersionJson(const std::string& cni_version) {
  const nlohmann::ordered_json answer = {{"cniVersion", cni_version},
                                         {"supportedVersions", kSupportedVersions}};
  return answer.dump();
}

}  // namespace kuryr::cni
