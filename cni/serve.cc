#include "cni/serve.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cni/add.h"
#include "cni/check.h"
#include "cni/del.h"
#include "cni/failure.h"
#include "cni/gc.h"
#include "cni/pod_reporter.h"
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

std::string ServeAdd(const Request& request, const Node& node, const Config& config,
                     PodEventSource& events, StageObserver& stages, const Deadline& deadline) {
  PodReporter reporter(request, config, node.writer);
  try {
    return Add(request, node, events, reporter, stages, deadline).dump();
  } catch (...) {
    reporter.OnFailed(AsCniError(std::current_exception()), deadline.Remaining().count() == 0);
    throw;
  }
}

}  // namespace

std::string Serve(const Request& request, const Node& node, const Config& config,
                  PodEventSource& events, StageObserver& stages, const Deadline& deadline) {
  switch (request.command) {
    case Command::kAdd:
      return ServeAdd(request, node, config, events, stages, deadline);
    case Command::kDel:
      Del(request, node, stages, deadline);
      break;
    case Command::kCheck:
      Check(request, node, deadline);
      break;
    case Command::kGc:
      Gc(request, node, deadline);
      break;
    case Command::kStatus:
      Status(request, config, node, events, deadline);
      break;
    case Command::kVersion:
      return VersionJson(request.config.cni_version);
  }
  return {};
}

std::chrono::seconds LongestFor(Command command, const Config& config) {
  if (command == Command::kAdd) return std::min(config.vif_annotation_timeout, kLongestAdd);
  return command == Command::kStatus ? kLongestStatus : kLongestOther;
}

}  // namespace kuryr::cni
