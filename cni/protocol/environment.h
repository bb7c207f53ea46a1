#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kuryr::cni {

enum class Command { kAdd, kDel, kCheck, kGc, kStatus, kVersion };

[[nodiscard]] const char* ToString(Command command);

/// The CNI_* variables as the runtime set them; std::nullopt is unset.
struct Environment {
  std::optional<std::string> command;
  std::optional<std::string> container_id;
  std::optional<std::string> netns;
  std::optional<std::string> ifname;
  std::optional<std::string> args;
  std::optional<std::string> path;
  std::optional<std::string> netns_override;
};

/// Throws CniError 4.
[[nodiscard]] Command ParseCommand(const std::string& text);

/// Throws CniError 4 that names every missing and every invalid variable at once (CNI SPEC section
/// 2, "required environment parameters" of each command).
void CheckEnvironment(Command command, const Environment& environment);

/// [a-zA-Z0-9][a-zA-Z0-9_.-]*: the specification's rule for container ids and network names.
[[nodiscard]] bool IsIdentifier(std::string_view text);
inline constexpr const char* kIdentifierRule =
    "must start with a letter or digit and hold only those, '_', '.' and '-'";

}  // namespace kuryr::cni
