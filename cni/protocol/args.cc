#include "cni/protocol/args.h"

#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "cni/protocol/environment.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

/// The field for `key`; nullptr for an unknown key.
std::string* FieldFor(Args& args, std::string_view key) {
  if (key == "K8S_POD_NAMESPACE") return &args.pod.name_space;
  if (key == "K8S_POD_NAME") return &args.pod.name;
  if (key == "K8S_POD_UID") return &args.pod.uid;
  if (key == "MAC") return &args.mac;
  if (key == "IP") return &args.ip;
  if (key == "deviceID") return &args.device_id;
  if (key == "OvnPort" || key == "ovnPort") return &args.ovn_port;
  return nullptr;
}

bool IsTrue(std::string_view text) {
  return text == "1" || text == "true" || text == "True" || text == "TRUE";
}

}  // namespace

Args ParseArgs(std::string_view text) {
  Args args;
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
    const std::string_view value = pair.substr(equals + 1);
    if (std::string* known = FieldFor(args, key)) {
      *known = value;
    } else if (key == "IgnoreUnknown") {
      ignore_unknown = IsTrue(value);
    } else if (key != "K8S_POD_INFRA_CONTAINER_ID" && !unknown) {
      unknown = key;
    }
  }
  if (unknown && !ignore_unknown) {
    throw CniError(ErrorCode::kInvalidEnvironment,
                   "CNI_ARGS: unknown key \"" + Printable(*unknown) + "\" and no IgnoreUnknown=1");
  }
  return args;
}

void RequirePod(const PodArgs& pod) {
  std::string wrong;
  const auto add = [&](const char* key, const std::string& value) {
    wrong += (wrong.empty() ? "" : ", ") + (std::string(key) + "=" + Printable(value));
  };
  if (!IsDnsName(pod.name_space)) add("K8S_POD_NAMESPACE", pod.name_space);
  if (!IsDnsName(pod.name)) add("K8S_POD_NAME", pod.name);
  if (!pod.uid.empty() && !IsIdentifier(pod.uid)) add("K8S_POD_UID", pod.uid);
  if (wrong.empty()) return;
  throw CniError(ErrorCode::kInvalidEnvironment, "CNI_ARGS: missing or malformed: " + wrong,
                 "the runtime must name the pod: K8S_POD_NAMESPACE=...;K8S_POD_NAME=...");
}

}  // namespace kuryr::cni
