#include "cni/plugin/sandbox.h"

#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "binding/netns.h"
#include "cni/attachments/process.h"
#include "cni/protocol/environment.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDockerSocket = "/var/run/docker.sock";
constexpr std::chrono::seconds kDockerTimeout{10};

[[noreturn]] void ThrowDocker(const std::string& what) {
  throw CniError(ErrorCode::kTryAgainLater,
                 "Docker Engine at " + std::string(kDockerSocket) + " " + what);
}

std::string NetnsOf(pid_t pid) { return "/proc/" + std::to_string(pid) + "/ns/net"; }

/// The container's State.Pid, 0 when it does not run; nullopt without Docker or such a container.
std::optional<pid_t> PidFromDocker(const std::string& container_id) {
  httplib::Client docker(kDockerSocket);
  docker.set_address_family(AF_UNIX);
  docker.set_connection_timeout(kDockerTimeout);
  docker.set_read_timeout(kDockerTimeout);
  // By default the header Host would be the socket's path, which Docker refuses.
  const auto answer = docker.Get("/containers/" + container_id + "/json", {{"Host", "localhost"}});
  if (answer.error() == httplib::Error::Connection) return std::nullopt;
  if (!answer) ThrowDocker("does not answer: " + httplib::to_string(answer.error()));
  if (answer->status == 404) return std::nullopt;
  if (answer->status != 200) {
    ThrowDocker("answered " + std::to_string(answer->status) + ": " + Printable(answer->body, 200));
  }
  try {
    return ParseJson(answer->body).at("State").at("Pid").get<pid_t>();
  } catch (const std::exception& e) {
    ThrowDocker(std::string("answered no container: ") + Printable(e.what(), 200));
  }
}

/// Runtimes name a container's control group by its ID, or "RUNTIME-ID.scope" (systemd).
bool IsNamedAfter(std::string_view group, const std::string& container_id) {
  return group == container_id || group.ends_with("-" + container_id + ".scope");
}

/// Reads the file cgroup: lines of "HIERARCHY:CONTROLLERS:/PATH" (cgroups(7)).
bool IsInGroupOf(const std::string& container_id, const fs::path& process) {
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const fs::path path = line.substr(std::min(line.find(":/"), line.size() - 1) + 1);
    if (std::any_of(path.begin(), path.end(), [&](const fs::path& group) {
          return IsNamedAfter(group.native(), container_id);
        }))
      return true;
  }
  return false;
}

/// False for monitors of runtimes ("crio-conmon-ID.scope"), which stay in the node's own namespace.
bool HasNetnsOfItsOwn(pid_t pid) {
  const auto netns = binding::FindNetnsId(NetnsOf(pid));
  return netns && *netns != binding::Netns::Current().id();
}

std::optional<pid_t> OldestProcessOf(const std::string& container_id) {
  std::optional<ProcessId> oldest;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (!IsInGroupOf(container_id, entry.path()) || !HasNetnsOfItsOwn(pid)) continue;
    const ProcessId process = ProcessId::Of(pid);
    if (!oldest || process.start_time < oldest->start_time) oldest = process;
  }
  return oldest ? std::optional(oldest->pid) : std::nullopt;
}

}  // namespace

std::string FindSandbox(const std::string& container_id) {
  // The ID becomes part of a URL.
  if (!IsIdentifier(container_id)) {
    throw CniError(ErrorCode::kInvalidEnvironment,
                   "container ID " + Printable(container_id) + " " + kIdentifierRule);
  }
  auto pid = PidFromDocker(container_id);
  if (!pid) pid = OldestProcessOf(container_id);
  if (!pid || *pid <= 0) {
    throw CniError(ErrorCode::kUnknownContainer,
                   "container " + Printable(container_id) + " does not run");
  }
  return NetnsOf(*pid);
}

}  // namespace kuryr::cni
