#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): CLI11's names. Only one file reads its header, which
// takes a compiler seconds.
namespace CLI {
class App;
class Option;
}  // namespace CLI
// NOLINTEND(readability-identifier-naming)

namespace kuryr::service {

/// Exit statuses of all commands; 0 is success.
inline constexpr int kUnwell = 1;         ///< the command did its work, and found a fault
inline constexpr int kCommandFailed = 2;  ///< it could not do its work, or its arguments are wrong

/// An option of a CommandLine, valid as long as that.
class CommandLineOption {
 public:
  explicit CommandLineOption(CLI::Option* option) : option_(option) {}

  CommandLineOption& Require();
  /// Makes this option an error without `other`.
  CommandLineOption& Need(const CommandLineOption& other);
  CommandLineOption& AllowOnly(const std::vector<std::string>& values);
  /// Refuses what is no pod's NAMESPACE/NAME.
  CommandLineOption& AllowPod();

 private:
  CLI::Option* option_;
};

/// Options of a program or of one of its commands: a handle, valid as long as the ProgramLine.
class CommandLine {
 public:
  /// Adds an option. `name` is "--name VALUE", "--name" for a flag, or "NAME" for a positional
  /// argument. VALUE is the help's word for the value; completion offers files for FILE and FOLDER.
  /// ProgramLine::Parse writes to the second argument.
  CommandLineOption Add(const std::string& name, std::string& value, const std::string& about);
  CommandLineOption Add(const std::string& name, std::filesystem::path& value,
                        const std::string& about);
  /// Adds an option that may be given several times.
  CommandLineOption Add(const std::string& name, std::vector<std::string>& values,
                        const std::string& about);
  CommandLineOption Add(const std::string& name, bool& is_given, const std::string& about);
  /// Adds -o, --output text|json, and --json for the latter.
  void AddOutput(bool& as_json);
  /// Adds a command. The program's options may also follow its name.
  CommandLine AddCommand(const std::string& name, const std::string& about);

  /// Whether the user has given this command.
  [[nodiscard]] bool IsGiven() const;

 protected:
  explicit CommandLine(CLI::App* app) : app_(app) {}

 private:
  CLI::App* app_;
};

/// The text with which a program ends before it has begun.
struct EarlyEnd {
  std::string text;  ///< help, version, or what is wrong with the command line
  int exit_code = 0;

  /// Prints the text on stdout, or an error on stderr. Returns the exit code.
  [[nodiscard]] int Print() const;
};

/// The whole command line of a program. By itself, it has --help and --version, the commands help,
/// version and completion, and answers the scripts that completion prints.
class ProgramLine : public CommandLine {
 public:
  /// `footer` is the end of --help's text.
  ProgramLine(const std::string& name, const std::string& about, const std::string& footer = "");
  ~ProgramLine();
  ProgramLine(const ProgramLine&) = delete;
  ProgramLine& operator=(const ProgramLine&) = delete;

  /// Parses the arguments. Empty if the program shall continue.
  [[nodiscard]] std::optional<EarlyEnd> Parse(int argc, const char* const* argv);
  [[nodiscard]] bool HasCommand() const;

 private:
  explicit ProgramLine(std::unique_ptr<CLI::App> owned);
  void AddOwnCommands();
  [[nodiscard]] std::optional<EarlyEnd> RunOwnCommand();
  [[nodiscard]] EarlyEnd HelpOf(const std::string& command) const;
  [[nodiscard]] EarlyEnd Refuse(const std::string& word) const;

  std::unique_ptr<CLI::App> owned_;
  std::string shell_;  ///< the argument of command "completion"
};

}  // namespace kuryr::service
