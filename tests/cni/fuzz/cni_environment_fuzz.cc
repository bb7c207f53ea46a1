#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cni/protocol/environment.h"
#include "tests/cni/fuzz/properties.h"

namespace kuryr::cni {
namespace {

void Check(const Environment& environment) {
  const Command command = ParseCommand(environment.command.value_or(""));
  Require(ToString(command) == environment.command);
  CheckEnvironment(command, environment);
  if (command == Command::kGc) Require(environment.path && !environment.path->empty());
  if (command != Command::kAdd && command != Command::kDel && command != Command::kCheck) return;
  RequireFileName(environment.container_id.value());
  RequireFileName(environment.ifname.value());
  Require(command == Command::kDel || !environment.netns.value().empty());
}

}  // namespace
}  // namespace kuryr::cni

/// Lines "COMMAND", "CONTAINERID", "NETNS", "IFNAME", "PATH", "ARGS"; one that is missing is unset.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr::cni;
  std::optional<std::string_view> text({reinterpret_cast<const char*>(data), size});
  const auto line = [&]() -> std::optional<std::string> {
    if (!text) return std::nullopt;
    const size_t end = text->find('\n');
    std::string found(text->substr(0, end));
    text = end == std::string_view::npos ? std::nullopt : std::optional(text->substr(end + 1));
    return found;
  };
  Environment environment;
  for (auto* variable : {&environment.command, &environment.container_id, &environment.netns,
                         &environment.ifname, &environment.path, &environment.args})
    *variable = line();
  try {
    Check(environment);
  } catch (const CniError& e) {
    Require(e.code() == ErrorCode::kInvalidEnvironment);
    RequireTold(e);
  }
  return 0;
}
