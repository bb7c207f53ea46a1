#include "cni/plugin/detached_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "cni/config.h"
#include "cni/protocol/trace_id.h"
#include "cni/standalone/child_process.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr unsigned kLongestSeconds = 5;

/// A file in memory. Unlike a pipe, it takes text of any length without a reader.
UniqueFd FileOf(const std::string& text) {
  UniqueFd file(::memfd_create("kuryr-cni", MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    ThrowErrno("write to a file in memory");
  return file;
}

void Write(const json& work) {
  const Config config =
      LoadConfig(work.at("config_files"), [](const char* name) { return std::getenv(name); });
  if (config.program.debug) SetLogLevel(LogLevel::kDebug);
  if (!config.program.log_file.empty()) SetLogFile(config.program.log_file);
  watcher::ApiClient client(ForWrites(config.api));
  const bool create = work.at("create");
  Send({.kind = create ? ApiWrite::Kind::kCreate : ApiWrite::Kind::kMergePatch,
        .path = work.at("path"),
        .body = work.at("body")},
       client);
}

}  // namespace

void DetachedWriter::WriteLater(ApiWrite write) {
  const json work = {{"config_files", config_files_},
                     {kTraceIdField, trace_id_},
                     {"create", write.kind == ApiWrite::Kind::kCreate},
                     {"path", write.path},
                     {"body", write.body}};
  const UniqueFd input = FileOf(work.dump(-1, ' ', false, json::error_handler_t::replace));
  // This path is the running program, even if another file has its name by now.
  StartDetached("/proc/self/exe", {"kuryr-cni", kPostEvent}, input.get());
}

int WriteNow(const std::string& input) {
  ::alarm(kLongestSeconds);
  ::signal(SIGPIPE, SIG_IGN);
  std::optional<LogScope> scope;
  try {
    const json work = ParseJson(input);
    scope.emplace(LogField(kTraceIdField, StringAt(work, kTraceIdField)));
    Write(work);
    return 0;
  } catch (const std::exception& e) {
    Log(LogLevel::kDebug, "not told to the API server", {{"error", e.what()}});
    return 1;
  }
}

}  // namespace kuryr::cni
