#include "cni/protocol/environment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

constexpr std::array<std::pair<const char*, Command>, 6> kCommands = {
    {{"ADD", Command::kAdd},
     {"DEL", Command::kDel},
     {"CHECK", Command::kCheck},
     {"GC", Command::kGc},
     {"STATUS", Command::kStatus},
     {"VERSION", Command::kVersion}}};

/// Collects what is wrong, so that one answer names it all.
class EnvironmentCheck {
 public:
  using Rule = bool (*)(std::string_view);

  void Look(const char* name, const std::optional<std::string>& value, bool required, Rule valid,
            const char* rule) {
    if (!value || value->empty()) {
      if (required) Add(missing_, name);
    } else if (!valid(*value)) {
      Add(invalid_, std::string(name) + "=" + Printable(*value) + " (" + rule + ")");
    }
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

bool Any(std::string_view /*text*/) { return true; }

}  // namespace

const char* ToString(Command command) { return kCommands[static_cast<size_t>(command)].first; }

Command ParseCommand(const std::string& text) {
  for (const auto& [name, command] : kCommands) {
    if (text == name) return command;
  }
  throw CniError(ErrorCode::kInvalidEnvironment,
                 text.empty() ? "missing environment variables: CNI_COMMAND"
                              : "unknown CNI_COMMAND: " + Printable(text),
                 "expected ADD, DEL, CHECK, GC, STATUS or VERSION");
}

void CheckEnvironment(Command command, const Environment& environment) {
  EnvironmentCheck check;
  if (command == Command::kGc) {
    check.Look("CNI_PATH", environment.path, true, Any, "");
  } else if (command != Command::kStatus && command != Command::kVersion) {
    const bool needs_netns = command != Command::kDel;
    check.Look("CNI_CONTAINERID", environment.container_id, true, IsIdentifier, kIdentifierRule);
    check.Look("CNI_NETNS", environment.netns, needs_netns, Any, "");
    check.Look("CNI_IFNAME", environment.ifname, true, IsLinkName, kLinkNameRule);
  }
  check.ThrowIfWrong();
}

bool IsIdentifier(std::string_view text) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace kuryr::cni
