#include "service/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

namespace kuryr::service {

CommandLineOption& CommandLineOption::Require() {
  option_->required();
  return *this;
}

CommandLineOption& CommandLineOption::Need(const CommandLineOption& other) {
  option_->needs(other.option_);
  return *this;
}

CommandLineOption& CommandLineOption::AllowOnly(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

CommandLineOption CommandLine::Add(const std::string& name, std::string& value,
                                   const std::string& about) {
  return CommandLineOption(app_->add_option(name, value, about));
}

CommandLineOption CommandLine::Add(const std::string& name, std::filesystem::path& value,
                                   const std::string& about) {
  return CommandLineOption(app_->add_option(name, value, about));
}

CommandLineOption CommandLine::Add(const std::string& name, std::vector<std::string>& values,
                                   const std::string& about) {
  return CommandLineOption(app_->add_option(name, values, about));
}

CommandLineOption CommandLine::Add(const std::string& name, bool& is_given,
                                   const std::string& about) {
  return CommandLineOption(app_->add_flag(name, is_given, about));
}

CommandLine CommandLine::AddCommand(const std::string& name, const std::string& about) {
  CLI::App* command = app_->add_subcommand(name, about);
  command->fallthrough();
  return CommandLine(command);
}

bool CommandLine::IsGiven() const { return app_->parsed(); }

int EarlyEnd::Print() const {
  std::fputs(text.c_str(), exit_code == 0 ? stdout : stderr);
  return exit_code;
}

ProgramLine::ProgramLine(const std::string& name, const std::string& about,
                         const std::string& footer)
    : ProgramLine(std::make_unique<CLI::App>(about, name)) {
  owned_->footer(footer);
  owned_->set_version_flag("--version", name + " " KURYR_VERSION);
}

ProgramLine::ProgramLine(std::unique_ptr<CLI::App> owned)
    : CommandLine(owned.get()), owned_(std::move(owned)) {}

ProgramLine::~ProgramLine() = default;

std::optional<EarlyEnd> ProgramLine::Parse(int argc, const char* const* argv) {
  try {
    owned_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    std::ostringstream out;
    std::ostringstream error;
    const int exit_code = owned_->exit(e, out, error);
    return EarlyEnd{.text = out.str() + error.str(), .exit_code = exit_code};
  }
}

bool ProgramLine::HasCommand() const { return !owned_->get_subcommands().empty(); }

}  // namespace kuryr::service
