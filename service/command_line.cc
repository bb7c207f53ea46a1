#include "service/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "service/completion.h"

namespace kuryr::service {
namespace {

/// "--name VALUE" as the option's name and the help's word for its value.
std::pair<std::string, std::string> Split(const std::string& name) {
  const size_t blank = name.find(' ');
  if (blank == std::string::npos) return {name, ""};
  return {name.substr(0, blank), name.substr(blank + 1)};
}

template <typename Value>
CLI::Option* AddTyped(CLI::App& app, const std::string& name, Value& value,
                      const std::string& about) {
  const auto [option, type] = Split(name);
  return app.add_option(option, value, about)->type_name(type);
}

bool TakesFile(const std::string& type) { return type == "FILE" || type == "FOLDER"; }

/// The values of IsMember, which stand in the option's type as "{a,b}".
std::vector<std::string> AllowedBy(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

CompletionWords::Option WordsOf(const CLI::Option& option) {
  CompletionWords::Option words{.about = option.get_description(),
                                .takes_value = option.get_type_size() != 0,
                                .values = AllowedBy(option)};
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  words.takes_file = TakesFile(option.nonpositional() ? option.get_type_name() : option.get_name());
  return words;
}

CompletionWords WordsOf(const CLI::App& app) {
  CompletionWords words{.name = app.get_name(), .about = app.get_description()};
  for (const CLI::Option* option : app.get_options())
    (option->nonpositional() ? words.options : words.arguments).push_back(WordsOf(*option));
  for (const CLI::App* command : app.get_subcommands({}))
    words.commands.push_back(WordsOf(*command));
  return words;
}

/// The names that the user may have meant: commands, or options of the program and the command.
std::vector<std::string> NamesIn(const CLI::App& app, bool is_option) {
  std::vector<std::string> names;
  if (!is_option) {
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }
  const auto add = [&](const CLI::App& of) {
    for (const auto& option : WordsOf(of).options)
      names.insert(names.end(), option.names.begin(), option.names.end());
  };
  add(app);
  for (const CLI::App* command : app.get_subcommands()) add(*command);
  return names;
}

/// "there is no command statsu; did you mean status?"
std::string Unexpected(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands();
  const bool is_option = word.starts_with("-");
  // A single letter is near any other one.
  const bool is_known_kind = is_option ? word.size() > 2 : commands.empty();
  const std::string nearest = is_known_kind ? NearestName(word, NamesIn(app, is_option)) : "";
  return (commands.empty() ? "there is no " : commands.front()->get_name() + " takes no ") +
         (is_option          ? "option "
          : commands.empty() ? "command "
                             : "argument ") +
         word + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

EarlyEnd Misuse(const CLI::App& app, const std::string& what) {
  return {.text = app.get_name() + ": " + what + "\n" + app.get_name() +
                  " --help shows what it takes.\n",
          .exit_code = kCommandFailed};
}

}  // namespace

CommandLineOption& CommandLineOption::Require() {
  option_->required();
  return *this;
}

CommandLineOption& CommandLineOption::Need(const CommandLineOption& other) {
  option_->needs(other.option_);
  return *this;
}

CommandLineOption& CommandLineOption::AllowOnly(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values))->option_text(CLI::detail::join(values, "|"));
  return *this;
}

CommandLineOption& CommandLineOption::AllowPod() {
  option_->check([](const std::string& text) {
    const size_t slash = text.find('/');
    const bool is_pod = slash != std::string::npos && IsDnsName(text.substr(0, slash)) &&
                        IsDnsName(text.substr(slash + 1));
    return is_pod ? "" : "\"" + Printable(text, 300) + "\" names no pod; expected NAMESPACE/NAME";
  });
  return *this;
}

CommandLineOption CommandLine::Add(const std::string& name, std::string& value,
                                   const std::string& about) {
  return CommandLineOption(AddTyped(*app_, name, value, about));
}

CommandLineOption CommandLine::Add(const std::string& name, std::filesystem::path& value,
                                   const std::string& about) {
  return CommandLineOption(AddTyped(*app_, name, value, about));
}

CommandLineOption CommandLine::Add(const std::string& name, std::vector<std::string>& values,
                                   const std::string& about) {
  // One value each time: further words are the command's, and the help has no "..." then.
  return CommandLineOption(AddTyped(*app_, name, values, about)
                               ->allow_extra_args(false)
                               ->option_text(Split(name).second));
}

CommandLineOption CommandLine::Add(const std::string& name, bool& is_given,
                                   const std::string& about) {
  return CommandLineOption(app_->add_flag(name, is_given, about));
}

void CommandLine::AddOutput(bool& as_json) {
  app_->add_flag("--json", as_json, "Print JSON, as -o json does");
  const auto take = [&as_json](const std::string& format) { as_json = format == "json"; };
  CommandLineOption(app_->add_option_function<std::string>("-o,--output", take, "Print this form"))
      .AllowOnly({"text", "json"});
}

CommandLine CommandLine::AddCommand(const std::string& name, const std::string& about) {
  CLI::App* command = app_->add_subcommand(name, about);
  command->fallthrough();
  command->footer("");  // the program's examples are of all commands
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
  owned_->set_version_flag("-V,--version", name + " " KURYR_VERSION);
}

ProgramLine::ProgramLine(std::unique_ptr<CLI::App> owned)
    : CommandLine(owned.get()), owned_(std::move(owned)) {}

ProgramLine::~ProgramLine() = default;

void ProgramLine::AddOwnCommands() {
  AddCommand("help", "Show the program's help, or that of the command behind it");
  AddCommand("version", "Show the version");
  AddCommand("completion", "Print a script that completes this program's words in a shell")
      .Add("SHELL", shell_, "The shell that shall read it")
      .Require()
      .AllowOnly(kShells);
}

EarlyEnd ProgramLine::HelpOf(const std::string& command) const {
  const auto found = std::as_const(*owned_).get_subcommands(
      [&](const CLI::App* each) { return each->get_name() == command; });
  if (found.empty()) return Refuse(command);
  return {.text = found.front()->help(owned_->get_name())};
}

std::optional<EarlyEnd> ProgramLine::RunOwnCommand() {
  if (owned_->got_subcommand("version")) return EarlyEnd{.text = owned_->version() + "\n"};
  if (owned_->got_subcommand("completion"))
    return EarlyEnd{.text = CompletionScript(owned_->get_name(), shell_)};
  if (!owned_->got_subcommand("help")) return std::nullopt;
  owned_->clear();  // or its help would be that of command "help"
  return EarlyEnd{.text = owned_->help()};
}

std::optional<EarlyEnd> ProgramLine::Parse(int argc, const char* const* argv) {
  AddOwnCommands();
  if (argc > 1 && argv[1] == std::string_view(kComplete))
    return EarlyEnd{.text = Complete(WordsOf(*owned_), {argv + 2, argv + argc})};
  // CLI11 would take the word behind it for a second command.
  if (argc > 2 && argv[1] == std::string_view("help") && *argv[2] != '-') return HelpOf(argv[2]);
  try {
    owned_->parse(argc, argv);
    return RunOwnCommand();
  } catch (const CLI::ExtrasError&) {
    return Refuse(owned_->remaining(true).front());
  } catch (const CLI::Success& asked) {
    std::ostringstream out;
    owned_->exit(asked, out, out);
    return EarlyEnd{.text = out.str()};
  } catch (const CLI::ParseError& wrong) {
    return Misuse(*owned_, wrong.what());
  }
}

EarlyEnd ProgramLine::Refuse(const std::string& word) const {
  return Misuse(*owned_, Unexpected(*owned_, word));
}

bool ProgramLine::HasCommand() const { return !owned_->get_subcommands().empty(); }

}  // namespace kuryr::service
