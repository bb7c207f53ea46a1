#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config/program_options.h"

namespace kuryr::service {

/// The answer to a GET at a program that runs on this machine. The request goes to the program's
/// socket if the options name one, and otherwise to its port. nullopt if no program answers.
struct HealthAnswer {
  bool is_well = false;
  std::string text;
};
[[nodiscard]] std::optional<HealthAnswer> AskHealth(const ProgramOptions& program,
                                                    const std::string& path,
                                                    std::chrono::seconds time);

/// Asks the running program whether it is "alive" or "ready", as `wanted` says. Prints "ok" or the
/// fault. Returns the exit status: 1 for a fault. Throws std::runtime_error if no program answers,
/// or if the options name neither port nor socket.
[[nodiscard]] int PrintHealth(const ProgramOptions& program, const std::string& wanted);

}  // namespace kuryr::service
