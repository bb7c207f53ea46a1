#include "watcher/json_text.h"

#include <algorithm>

namespace kuryr::watcher {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// A place in a JSON text. If the text ends too soon, every Skip leaves the place at the end.
class Place {
 public:
  explicit Place(std::string_view text) : text_(text) {}

  /// The next character that is no space; 0 at the end.
  [[nodiscard]] char Next() {
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char wanted) {
    if (Next() != wanted) return false;
    ++at_;
    return true;
  }
  /// The text of the value that begins here.
  std::string_view TakeValue() {
    const char first = Next();
    const size_t begin = at_;
    if (first == '"') {
      SkipString();
    } else if (first == '{' || first == '[') {
      SkipNested();
    } else {
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void SkipString() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return;
      }
    }
    at_ = text_.size();
  }
  void SkipNested() {
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return;
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
};

std::optional<std::string_view> FindMember(std::string_view text, std::string_view name) {
  Place place(text);
  if (!place.Take('{')) return std::nullopt;
  while (place.Next() == '"') {
    const std::string_view key = place.TakeValue();
    if (!place.Take(':')) return std::nullopt;
    const std::string_view value = place.TakeValue();
    if (key.size() == name.size() + 2 && key.substr(1, name.size()) == name) return value;
    if (!place.Take(',')) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> FindJsonText(std::string_view text,
                                             std::initializer_list<std::string_view> path) {
  std::optional<std::string_view> found = text;
  for (const std::string_view name : path) {
    found = FindMember(*found, name);
    if (!found) break;
  }
  return found;
}

std::string WithNullAt(std::string_view text, std::initializer_list<std::string_view> path) {
  const auto value = FindJsonText(text, path);
  if (!value) return std::string(text);
  const auto begin = static_cast<size_t>(value->data() - text.data());
  std::string changed(text.substr(0, begin));
  return changed.append("null").append(text.substr(begin + value->size()));
}

bool ForEachJsonText(std::string_view text,
                     const std::function<void(std::string_view element)>& sink) {
  Place place(text);
  if (!place.Take('[')) return false;
  if (place.Take(']')) return true;
  do {
    sink(place.TakeValue());
  } while (place.Take(','));
  return place.Take(']');
}

}  // namespace kuryr::watcher
