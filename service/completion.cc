#include "service/completion.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace kuryr::service {
namespace {

using Option = CompletionWords::Option;

constexpr std::string_view kBash = R"(# bash completion for PROGRAM
_FUNCTION() {
  local word=${COMP_WORDS[COMP_CWORD]} IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  [ "${COMPREPLY[0]-}" != :files ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _FUNCTION PROGRAM
)";

constexpr std::string_view kZsh = R"(#compdef PROGRAM
_FUNCTION() {
  local -a lines
  lines=("${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == :files ]]; then
    _files
  else
    lines=("${(@)${(@)lines//:/\\:}/$'\t'/:}")
    _describe PROGRAM lines
  fi
}
if [ "$funcstack[1]" = "_PROGRAM" ]; then _FUNCTION "$@"; else compdef _FUNCTION PROGRAM; fi
)";

constexpr std::string_view kFish = R"(# fish completion for PROGRAM
function __FUNCTION
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
  if test "$lines[1]" = :files
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $lines
  end
end
complete -c PROGRAM -f -a '(__FUNCTION)'
)";

std::string Replaced(std::string text, std::string_view what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

const Option* Find(const std::vector<Option>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& each) {
    return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

/// The candidates that begin as the unfinished word does.
class Candidates {
 public:
  explicit Candidates(std::string begin) : begin_(std::move(begin)) {}

  void Add(const std::string& text, const std::string& about) {
    if (text.starts_with(begin_) && seen_.insert(text).second)
      text_ += text + (about.empty() ? "" : "\t" + about) + "\n";
  }
  void AddValuesOf(const Option& option) {
    for (const std::string& value : option.values) Add(value, "");
    if (option.takes_file) text_ += std::string(kOfferFiles) + "\n";
  }
  void AddNamesOf(const std::vector<Option>& options) {
    for (const Option& each : options) Add(each.names.back(), each.about);
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  const std::string begin_;
  std::set<std::string> seen_;  ///< a command and its program both have --help
  std::string text_;
};

}  // namespace

std::string Complete(const CompletionWords& program, const std::vector<std::string>& words) {
  const CompletionWords* command = &program;
  const Option* awaits_value = nullptr;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_value = std::exchange(awaits_value, nullptr) != nullptr;
    if (is_value) continue;
    const Option* option = Find(command->options, words[i]);
    if (option == nullptr) option = Find(program.options, words[i]);
    if (option != nullptr && option->takes_value) awaits_value = option;
    if (command != &program) continue;
    for (const CompletionWords& each : program.commands)
      if (each.name == words[i]) command = &each;
  }
  const std::string last = words.empty() ? "" : words.back();
  Candidates candidates(last);
  if (awaits_value != nullptr) {
    candidates.AddValuesOf(*awaits_value);
  } else if (last.starts_with("-")) {
    candidates.AddNamesOf(command->options);
    if (command != &program) candidates.AddNamesOf(program.options);
  } else {
    for (const CompletionWords& each : command->commands) candidates.Add(each.name, each.about);
    for (const Option& each : command->arguments) candidates.AddValuesOf(each);
  }
  return std::move(candidates).text();
}

std::string CompletionScript(const std::string& program, const std::string& shell) {
  const std::string_view script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
  return Replaced(Replaced(std::string(script), "PROGRAM", program), "FUNCTION",
                  Replaced(program, "-", "_"));
}

}  // namespace kuryr::service
