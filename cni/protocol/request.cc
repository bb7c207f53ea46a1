#include "cni/protocol/request.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

Command ParseCommand(const std::string& text) {
  if (text == "ADD") return Command::kAdd;
  if (text == "DEL") return Command::kDel;
  if (text == "VERSION") return Command::kVersion;
  throw CniError(ErrorCode::kInvalidEnvironment, "unknown CNI_COMMAND: " + Printable(text),
                 "expected ADD, DEL or VERSION");
}

bool IsIdentifier(std::string_view text) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), allowed);
}

/// Collects what is wrong with the environment, so that one answer names it all.
class EnvironmentCheck {
 public:
  std::string Take(const char* name, const std::optional<std::string>& value, bool required,
                   bool (*valid)(std::string_view), const char* rule) {
    if (!value || value->empty()) {
      if (required) Add(missing_, name);
      return {};
    }
    if (!valid(*value))
      Add(invalid_, std::string(name) + "=" + Printable(*value) + " (" + rule + ")");
    return *value;
  }
  void ThrowIfWrong() const {
    if (missing_.empty() && invalid_.empty()) return;
    std::string text;
    if (!missing_.empty()) text = "missing environment variables: " + missing_;
    if (!invalid_.empty())
      text += (text.empty() ? "" : "; ") + ("invalid environment variables: " + invalid_);
    throw CniError(ErrorCode::kInvalidEnvironment, text);
  }

 private:
  static void Add(std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  }

  std::string missing_;
  std::string invalid_;
};

json ParseInput(std::string_view input) {
  if (input.empty()) throw CniError(ErrorCode::kDecodeFailure, "no network configuration on stdin");
  json config;
  try {
    config = ParseJson(input);
  } catch (const ParseError& e) {
    throw CniError(ErrorCode::kDecodeFailure, "malformed network configuration on stdin", e.what());
  }
  if (!config.is_object()) {
    throw CniError(ErrorCode::kDecodeFailure, std::string("network configuration is a JSON ") +
                                                  config.type_name() + ", expected an object");
  }
  return config;
}

std::string VersionField(const json& config) {
  const auto found = config.find("cniVersion");
  if (found == config.end()) return {};
  if (!found->is_string()) {
    throw CniError(ErrorCode::kDecodeFailure, std::string("cniVersion is a JSON ") +
                                                  found->type_name() + ", expected a string");
  }
  return found->get<std::string>();
}

SpecVersion SupportedVersion(const std::string& text) {
  const auto version = ParseVersion(text);
  if (version) return *version;
  std::string supported;
  for (const auto known : kSupportedVersions)
    supported += (supported.empty() ? "" : ", ") + std::string(known);
  throw CniError(ErrorCode::kIncompatibleVersion, "incompatible CNI versions",
                 "config is \"" + Printable(text) + "\", plugin supports " + supported);
}

template <typename T>
T Option(const json& config, const char* name, const char* expected) {
  const auto found = config.find(name);
  if (found == config.end()) return T{};
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    throw CniError(ErrorCode::kInvalidConfig, std::string(name) + " is a JSON " +
                                                  found->type_name() + ", expected " + expected);
  }
}

void CheckPluginName(const json& config, const char* where) {
  const auto type = Option<std::string>(config, "type", "a string");
  if (type.find('/') != std::string::npos) {
    throw CniError(ErrorCode::kInvalidConfig,
                   std::string(where) + " \"" + Printable(type) +
                       "\" has a path separator; expected a program's name");
  }
}

void TakeConfig(const json& config, Request& request) {
  request.network = Option<std::string>(config, "name", "a string");
  if (!IsIdentifier(request.network)) {
    throw CniError(
        ErrorCode::kInvalidConfig,
        request.network.empty()
            ? "network configuration has no name"
            : "name \"" + Printable(request.network) +
                  "\" must start with a letter or digit and hold only those, '_', '.' and '-'");
  }
  CheckPluginName(config, "type");
  const auto ipam = config.find("ipam");
  if (ipam != config.end() && ipam->is_object()) CheckPluginName(*ipam, "ipam.type");
  request.kuryr_conf = Option<std::string>(config, "kuryr_conf", "a path");
  request.debug = Option<bool>(config, "debug", "true or false");
}

/// Both become part of a URL and of log lines; Kubernetes allows them no more than this (RFC 1123).
void CheckPod(const PodArgs& pod) {
  std::string wrong;
  if (!IsDnsName(pod.name_space)) wrong = "K8S_POD_NAMESPACE=" + Printable(pod.name_space);
  if (!IsDnsName(pod.name))
    wrong += (wrong.empty() ? "" : ", ") + ("K8S_POD_NAME=" + Printable(pod.name));
  if (!pod.uid.empty() && !IsIdentifier(pod.uid)) {
    wrong += (wrong.empty() ? "" : ", ") + ("K8S_POD_UID=" + Printable(pod.uid));
  }
  if (!wrong.empty()) {
    throw CniError(ErrorCode::kInvalidEnvironment, "CNI_ARGS: missing or malformed: " + wrong,
                   "the runtime must name the pod: K8S_POD_NAMESPACE=...;K8S_POD_NAME=...");
  }
}

}  // namespace

PodArgs ParseArgs(std::string_view text) {
  PodArgs pod;
  bool ignore_unknown = false;
  std::optional<std::string> unknown;
  while (!text.empty()) {
    const size_t end = text.find(';');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.find('=', equals + 1) != std::string_view::npos) {
      throw CniError(ErrorCode::kInvalidEnvironment,
                     "CNI_ARGS: \"" + Printable(std::string(pair)) + "\" is not KEY=VALUE");
    }
    const std::string_view key = pair.substr(0, equals);
    const std::string value(pair.substr(equals + 1));
    if (key == "IgnoreUnknown") {
      ignore_unknown = value == "1" || value == "true" || value == "True" || value == "TRUE";
    } else if (key == "K8S_POD_NAMESPACE") {
      pod.name_space = value;
    } else if (key == "K8S_POD_NAME") {
      pod.name = value;
    } else if (key == "K8S_POD_UID") {
      pod.uid = value;
    } else if (key != "K8S_POD_INFRA_CONTAINER_ID" && !unknown) {
      unknown = key;
    }
  }
  if (unknown && !ignore_unknown) {
    throw CniError(ErrorCode::kInvalidEnvironment,
                   "CNI_ARGS: unknown key \"" + Printable(*unknown) + "\" and no IgnoreUnknown=1");
  }
  return pod;
}

Request ParseRequest(const Environment& environment, std::string_view input) {
  Request request;
  request.command = ParseCommand(environment.command.value_or(""));
  if (request.command == Command::kVersion) {
    request.cni_version = AnswerVersion(input);
    return request;
  }

  EnvironmentCheck check;
  const bool adding = request.command == Command::kAdd;
  request.container_id =
      check.Take("CNI_CONTAINERID", environment.container_id, true, IsIdentifier,
                 "must start with a letter or digit and hold only those, '_', '.' and '-'");
  request.netns =
      check.Take("CNI_NETNS", environment.netns, adding, [](std::string_view) { return true; }, "");
  request.ifname = check.Take("CNI_IFNAME", environment.ifname, true, IsLinkName, kLinkNameRule);
  check.ThrowIfWrong();
  const std::string& override_text = environment.netns_override.value_or("");
  request.netns_override = override_text == "1" || override_text == "true";

  const json config = ParseInput(input);
  request.cni_version = VersionField(config);
  request.version = SupportedVersion(request.cni_version);
  TakeConfig(config, request);
  if (adding) {
    request.pod = ParseArgs(environment.args.value_or(""));
    CheckPod(request.pod);
  }
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
  const nlohmann::ordered_json json = {{"cniVersion", cni_version},
                                       {"supportedVersions", kSupportedVersions}};
  return json.dump();
}

}  // namespace kuryr::cni
