#include "cni/standalone/delegate.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "cni/protocol/error.h"
#include "cni/standalone/child_process.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

bool IsProgram(const std::string& path) {
  struct stat file = {};
  return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode);
}

std::string Find(const std::string& name, const std::string& folders) {
  if (folders.empty()) {
    throw CniError(ErrorCode::kInvalidEnvironment, "missing environment variables: CNI_PATH",
                   "plugin " + Printable(name) + " has to be found in it");
  }
  std::istringstream items(folders);
  for (std::string folder; std::getline(items, folder, ':');) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (!folder.empty() && IsProgram(path)) return path;
  }
  // The text must not say "not found": in a DEL's error, runtimes take that for success.
  throw CniError(ErrorCode::kDelegateFailure,
                 "plugin " + Printable(name) + " is in no folder of CNI_PATH",
                 Printable(folders, 300));
}

/// Our environment, with the CNI variables of this request.
std::vector<std::string> EnvironmentFor(Command command, const Request& request) {
  std::vector<std::string> environment;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).rfind("CNI_", 0) != 0) environment.emplace_back(*variable);
  }
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) environment.push_back(std::string(name) + "=" + value);
  };
  add("CNI_COMMAND", ToString(command));
  add("CNI_CONTAINERID", request.container_id);
  add("CNI_NETNS", request.netns);
  add("CNI_IFNAME", request.ifname);
  add("CNI_ARGS", request.args);
  add("CNI_PATH", request.path);
  if (request.netns_override) add("CNI_NETNS_OVERRIDE", "1");
  return environment;
}

/// A larger code may become 0 as an int, which would be no error.
constexpr uint64_t kMostCode = std::numeric_limits<int>::max();

/// The plugin's own error, or one of ours when its output cannot be read. CNI's library gives code
/// 999 to any error without a code, so 999 is no internal error of ours.
CniError ErrorOf(const std::string& name, const ChildOutput& output) {
  try {
    const json error = ParseJson(output.out);
    const auto code = error.is_object() ? error.find("code") : error.end();
    if (code != error.end() && code->is_number_unsigned() && *code >= 1 && *code <= kMostCode) {
      const auto own = static_cast<ErrorCode>(code->get<int>());
      const std::string failed = "plugin " + name + " failed";
      const std::string message = StringAt(error, "msg");
      const std::string details = StringAt(error, "details");
      if (own == ErrorCode::kInternal)
        return {ErrorCode::kDelegateFailure, failed + ": " + message, details};
      return {own, message.empty() ? failed : message, details};
    }
  } catch (const ParseError&) {
    Log(LogLevel::kDebug, "delegate's error is no JSON", {{"plugin", name}});
  }
  return {
      ErrorCode::kDelegateFailure,
      "plugin " + name + " ended with status " + std::to_string(output.status) + " and no error",
      Printable(output.out, 300)};
}

}  // namespace

Delegate::Delegate(const Request& request, const json& config)
    : request_(request),
      name_(StringAt(config.value("ipam", json::object()), "type")),
      program_(Find(name_, request.path)),
      input_(config.dump(-1, ' ', false, json::error_handler_t::replace)) {}

std::string Delegate::Execute(Command command, const Deadline& deadline) const {
  ChildOutput output;
  try {
    output = RunChild(program_, EnvironmentFor(command, request_), input_, deadline);
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::timed_out || e.code() == std::errc::operation_canceled) throw;
    throw CniError(ErrorCode::kDelegateFailure, e.what());
  }
  if (output.status != 0) throw ErrorOf(name_, output);
  return std::move(output.out);
}

Result Delegate::Add(const Deadline& deadline) const {
  const std::string answer = Execute(Command::kAdd, deadline);
  try {
    Result result = DecodeResult(ParseJson(answer), request_.config.version);
    if (result.ips.empty()) {
      throw ParseError("$.ips",
                       "has no address; name some in ipam, or by ips in the pod's annotation");
    }
    return result;
  } catch (const ParseError& e) {
    throw CniError(ErrorCode::kDelegateFailure, "plugin " + name_ + " answered no IPAM result",
                   e.what());
  }
}

bool Delegate::SupportsVersion(const Deadline& deadline) const {
  const std::string answer = Execute(Command::kVersion, deadline);
  try {
    const json supported = ParseJson(answer).at("supportedVersions");
    return std::find(supported.begin(), supported.end(), ToString(request_.config.version)) !=
           supported.end();
  } catch (const std::exception& e) {
    throw CniError(ErrorCode::kDelegateFailure, "plugin " + name_ + " answered no VERSION result",
                   Printable(e.what(), 300));
  }
}

void Delegate::Check(const Deadline& deadline) const { (void)Execute(Command::kCheck, deadline); }

void Delegate::Del(const Deadline& deadline) const {
  try {
    (void)Execute(Command::kDel, deadline);
  } catch (const CniError& e) {
    if (e.code() != ErrorCode::kIncompatibleVersion) throw;
    Log(LogLevel::kWarning, "delegate cannot have given anything",
        {{"plugin", name_}, {"error", e.what()}});
  }
}

void Delegate::Gc(const Deadline& deadline) const {
  if (SupportsVersion(deadline)) (void)Execute(Command::kGc, deadline);
}

void Delegate::Status(const Deadline& deadline) const {
  if (!SupportsVersion(deadline)) {
    throw CniError(ErrorCode::kNotAvailable,
                   "plugin " + name_ + " does not support CNI " + request_.config.cni_version,
                   "name an older cniVersion in the network configuration");
  }
  (void)Execute(Command::kStatus, deadline);
}

}  // namespace kuryr::cni
