#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/program_options.h"

namespace kuryr::service {

/// A part of a report, by its name. An error in `make` becomes the part's text.
struct ReportPart {
  std::string name;
  std::function<nlohmann::json()> make;
};

/// The lines of a text.
[[nodiscard]] nlohmann::json LinesOf(const std::string& text);

/// The parts that a program's health server answers: alive, ready and metrics. `read` reads where
/// it is.
[[nodiscard]] std::vector<ReportPart> HealthParts(const std::function<ProgramOptions()>& read);

/// Writes a report to stdout, for whoever looks into a bug: one JSON object with the program, its
/// version, time, kernel, the options of `config_files` without secrets (ShownOptions), and the
/// parts. Returns the exit status: kUnwell where a part has an error in its place.
[[nodiscard]] int PrintReport(const std::string& program,
                              const std::vector<std::string>& config_files,
                              const std::vector<ReportPart>& parts);

}  // namespace kuryr::service
