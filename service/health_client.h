#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/program_options.h"
#include "service/command_line.h"

namespace kuryr::service {

/// GET `path` of the program that runs on this machine with these options: at its socket where one
/// is named, and otherwise at its port. The text of the answer; nullopt when nobody gives one.
struct HealthAnswer {
  bool is_well = false;
  std::string text;
};
[[nodiscard]] std::optional<HealthAnswer> AskHealth(const ProgramOptions& program,
                                                    const std::string& path,
                                                    std::chrono::seconds time);

/// Adds command "health" to a program's line; `wanted` is "alive", or "ready" where that is asked,
/// which `ready` says the meaning of.
CommandLine AddHealthCommand(CommandLine& line, std::string& wanted, const std::string& ready);
/// What is printed of the program that runs: "ok", or what is wrong. The exit status: 1 when
/// something is. Throws std::runtime_error where nobody can be asked.
[[nodiscard]] int PrintHealth(const ProgramOptions& program, const std::string& wanted);

}  // namespace kuryr::service
