#include "cni/commands/command_table.h"

#include <algorithm>
#include <stdexcept>

#include "cni/commands/add.h"
#include "cni/commands/check.h"
#include "cni/commands/del.h"
#include "cni/commands/gc.h"
#include "cni/commands/status.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

/// Runtimes kill an ADD after 240 s. Before that, the ADD must be undone and answered with a
/// reason.
constexpr std::chrono::seconds kLongestAdd = 220s;
constexpr std::chrono::seconds kLongestOther = 60s;
/// Runtimes ask every few seconds, and wait for the answer.
constexpr std::chrono::seconds kLongestStatus = 5s;

std::string Version(const Call& call) { return VersionJson(call.request.config.cni_version); }

}  // namespace

ServeCommand FindCommand(Command command) {
  switch (command) {
    case Command::kAdd:
      return Add;
    case Command::kDel:
      return Del;
    case Command::kCheck:
      return Check;
    case Command::kGc:
      return Gc;
    case Command::kStatus:
      return Status;
    case Command::kVersion:
      return Version;
  }
  throw std::logic_error("no such command");
}

std::chrono::seconds LongestFor(Command command, const Config& config) {
  if (command == Command::kAdd) return std::min(config.vif_annotation_timeout, kLongestAdd);
  return command == Command::kStatus ? kLongestStatus : kLongestOther;
}

}  // namespace kuryr::cni
