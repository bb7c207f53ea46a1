#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "cni/failure.h"
#include "cni/ovs_cni/ovs_conf.h"
#include "cni/plugin/detached_writer.h"
#include "cni/plugin/exec_plugin.h"
#include "cni/plugin/options.h"
#include "cni/plugin/serve.h"
#include "cni/protocol/request.h"
#include "service/stop_signals.h"

namespace {

using namespace kuryr::cni;

/// The version for errors' answers. It is global for the terminate handler.
std::string answer_version;

std::string ReadStdin() {
  std::string input;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(STDIN_FILENO, buffer.data(), buffer.size())) > 0) {
    input.append(buffer.data(), static_cast<size_t>(size));
    if (input.size() > size_t{16} << 20) break;  // the parser refuses it
  }
  if (size < 0)
    throw CniError(ErrorCode::kIoFailure, "cannot read the network configuration from stdin");
  return input;
}

std::optional<std::string> Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Environment ReadEnvironment() {
  return {.command = Variable("CNI_COMMAND"),
          .container_id = Variable("CNI_CONTAINERID"),
          .netns = Variable("CNI_NETNS"),
          .ifname = Variable("CNI_IFNAME"),
          .args = Variable("CNI_ARGS"),
          .path = Variable("CNI_PATH"),
          .netns_override = Variable("CNI_NETNS_OVERRIDE")};
}

/// Without an error on stdout, the runtime could not tell its user anything.
void AnswerOnTerminate() {
  std::set_terminate([] {
    std::puts(ErrorJson(AsCniError(std::current_exception()), answer_version).c_str());
    std::fflush(stdout);
    std::_Exit(1);
  });
}

/// The kubelet reads stdout and stderr together as the answer. So stderr stays empty unless the
/// call fails.
int AnswerKubelet(const std::vector<std::string>& arguments) {
  try {
    const kuryr::UniqueFd signals = kuryr::service::StopSignalsAsFd();
    const std::string answer = ServeExec(arguments, signals.get());
    if (!answer.empty()) std::puts(answer.c_str());
    return 0;
  } catch (...) {
    const CniError error = AsCniError(std::current_exception());
    std::fprintf(stderr, "kuryr-cni: %s%s%s\n", error.what(), error.details().empty() ? "" : "; ",
                 error.details().c_str());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  AnswerOnTerminate();
  answer_version = kSupportedVersions.back();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (IsExecCall(arguments)) return AnswerKubelet(arguments);
  std::optional<Request> request;
  try {
    if (arguments == std::vector<std::string>{kPostEvent}) return WriteNow(ReadStdin());
    const Options options = ParseOptions(argc, argv);
    if (!options.text.empty()) {
      std::fputs(options.text.c_str(), options.is_error ? stderr : stdout);
      return options.exit_code;
    }
    std::string input = ReadStdin();
    answer_version = AnswerVersion(input);
    const Environment environment = ReadEnvironment();
    if (environment.command == ToString(Command::kVersion)) {
      std::puts(VersionJson(answer_version).c_str());
      return 0;
    }
    request = ParseRequest(environment, WithOvsConf(std::move(input), environment.command));
    request->config.debug |= options.debug;
    const kuryr::UniqueFd signals = kuryr::service::StopSignalsAsFd();
    const AgentReply answer = Serve(*request, options.config_files, signals.get());
    if (!answer.out.empty()) std::puts(answer.out.c_str());
    return answer.status;
  } catch (...) {
    CniError error = AsCniError(std::current_exception());
    if (request) error = ErrorFor(*request, error);
    std::puts(ErrorJson(error, answer_version).c_str());
    return 1;
  }
}
