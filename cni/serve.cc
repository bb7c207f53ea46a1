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

std::string ServeAdd(const Call& call) {
  PodReporter reporter(call.request, call.config, call.node.writer);
  try {
    return Add(call, reporter).dump();
  } catch (...) {
    reporter.OnFailed(AsCniError(std::current_exception()), call.deadline.Remaining().count() == 0);
    throw;
  }
}

}  // namespace

std::string Serve(const Call& call) {
  switch (call.request.command) {
    case Command::kAdd:
      return ServeAdd(call);
    case Command::kDel:
      Del(call);
      break;
    case Command::kCheck:
      Check(call);
      break;
    case Command::kGc:
      Gc(call);
      break;
    case Command::kStatus:
      Status(call);
      break;
    case Command::kVersion:
      return VersionJson(call.request.config.cni_version);
  }
  return {};
}

std::chrono::seconds LongestFor(Command command, const Config& config) {
  if (command == Command::kAdd) return std::min(config.vif_annotation_timeout, kLongestAdd);
  return command == Command::kStatus ? kLongestStatus : kLongestOther;
}

}  // namespace kuryr::cni
