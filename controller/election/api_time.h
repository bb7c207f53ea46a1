#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace kuryr::controller {

/// A Time or MicroTime (meta/v1) in whole seconds; nullopt for every other text.
[[nodiscard]] std::optional<std::chrono::sys_seconds> ParseTime(const std::string& text);

/// How long ago it was, by this machine's clock; at least 0.
[[nodiscard]] std::chrono::seconds AgeOf(std::chrono::sys_seconds time);

}  // namespace kuryr::controller
