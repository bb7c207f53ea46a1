#pragma once

#include <string>
#include <vector>

namespace kuryr::service {

/// What a user may write behind a program or a command.
struct CompletionWords {
  struct Word {
    std::string text;
    std::string about;
  };
  struct Option {
    std::vector<std::string> names;  ///< "-o", "--output"
    std::string about;
    bool takes_value = false;
    std::vector<std::string> values;  ///< the only ones allowed; empty: any
    bool takes_file = false;
  };

  std::string name;
  std::string about;
  std::vector<Option> options;
  std::vector<Option> arguments;  ///< positional
  std::vector<CompletionWords> commands;
};

/// A line in place of candidates: the shell shall offer files.
inline constexpr const char* kOfferFiles = ":files";
/// The hidden first argument by which the shells' scripts ask for candidates.
inline constexpr const char* kComplete = "__complete";
inline const std::vector<std::string> kShells = {"bash", "fish", "zsh"};

/// Lists what may stand in place of the last of `words`, which may be unfinished: a candidate and
/// its explanation a line, with a tab between them, or kOfferFiles.
[[nodiscard]] std::string Complete(const CompletionWords& program,
                                   const std::vector<std::string>& words);

/// The script that teaches a shell of kShells to complete the program's words.
[[nodiscard]] std::string CompletionScript(const std::string& program, const std::string& shell);

}  // namespace kuryr::service
