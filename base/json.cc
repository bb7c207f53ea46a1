#include "base/json.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kuryr {
namespace {

using nlohmann::json;

/// Builds the document from nlohmann's SAX events. While reading, it refuses input that nlohmann's
/// own parser accepts. The names of the events are nlohmann's.
class DocumentBuilder {
 public:
  DocumentBuilder(const JsonLimits& limits, const std::string& path)
      : limits_(limits), path_(path) {
    open_.reserve(32);
  }

  bool null() { return Place(nullptr); }
  bool boolean(bool value) { return Place(value); }
  bool number_integer(int64_t value) { return Place(value); }
  bool number_unsigned(uint64_t value) { return Place(value); }
  bool number_float(double value, const std::string& /*text*/) { return Place(value); }
  // Copied, not moved: the lexer goes on with its buffer.
  bool string(std::string& value) { return Place(std::as_const(value)); }
  bool binary(json::binary_t& /*value*/) { return false; }

  bool start_object(size_t /*size*/) { return Open(json::value_t::object); }
  bool start_array(size_t /*size*/) { return Open(json::value_t::array); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& name) {
    auto& object = open_.back()->get_ref<json::object_t&>();
    // Producers sort their keys, so a new key nearly always belongs at the end.
    const size_t before = object.size();
    const auto entry = object.try_emplace(object.end(), name);
    if (object.size() == before) {
      throw ParseError(PathOfOpen(), "key \"" + Printable(name) + "\" stands twice in one object");
    }
    slot_ = &entry->second;
    return true;
  }

  bool parse_error(size_t position, const std::string& /*last_token*/, const json::exception& e) {
    // nlohmann writes "[json.exception.parse_error.101] parse error at ...: REASON".
    const std::string_view what = e.what();
    const size_t prefix = what.find(": ");
    const std::string reason(prefix == std::string_view::npos ? what : what.substr(prefix + 2));
    throw ParseError(path_,
                     "no JSON at byte " + std::to_string(position) + ": " + Printable(reason, 200));
  }

  json Take() { return std::move(document_); }

 private:
  template <typename T>
  json* Put(T&& value) {
    if (values_++ == limits_.max_values)
      throw ParseError(path_, "has more than " + std::to_string(limits_.max_values) + " values");
    if (open_.empty()) {
      document_ = json(std::forward<T>(value));
      return &document_;
    }
    json* parent = open_.back();
    if (parent->is_array())
      return &parent->get_ref<json::array_t&>().emplace_back(std::forward<T>(value));
    *slot_ = json(std::forward<T>(value));
    return slot_;
  }

  template <typename T>
  bool Place(T&& value) {
    Put(std::forward<T>(value));
    return true;
  }

  bool Open(json::value_t type) {
    if (open_.size() >= limits_.max_depth) {
      throw ParseError(PathOfOpen(),
                       "nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
    open_.push_back(Put(type));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  /// The innermost open container. Each one is the newest element of its parent array, and in its
  /// parent object it is found by its address.
  [[nodiscard]] std::string PathOfOpen() const {
    std::string path = path_;
    for (size_t i = 1; i < open_.size(); ++i) {
      const json& parent = *open_[i - 1];
      if (parent.is_array()) {
        path += "[" + std::to_string(parent.size() - 1) + "]";
        continue;
      }
      for (const auto& [name, value] : parent.get_ref<const json::object_t&>()) {
        if (&value == open_[i]) path += PathStep(name);
      }
    }
    return path;
  }

  const JsonLimits& limits_;
  const std::string& path_;
  json document_;
  json* slot_ = nullptr;  // the value of the key read last
  size_t values_ = 0;
  std::vector<json*> open_;
};

bool IsPlainWord(std::string_view key) {
  if (key.empty() || (key[0] >= '0' && key[0] <= '9')) return false;
  for (const char c : key) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain) return false;
  }
  return true;
}

}  // namespace

nlohmann::json ParseJson(std::string_view text, const JsonLimits& limits, const std::string& path) {
  if (text.size() > limits.max_bytes) {
    throw ParseError(path, "document of " + std::to_string(text.size()) + " bytes, at most " +
                               std::to_string(limits.max_bytes) + " are accepted");
  }
  // nlohmann takes a zero byte for the end of the text, and would ignore what follows it.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw ParseError(path, "no JSON at byte " + std::to_string(zero) + ": zero byte");
  DocumentBuilder builder(limits, path);
  json::sax_parse(text, &builder);
  return builder.Take();
}

const nlohmann::json& MemberAt(const nlohmann::json& json, std::string_view key) {
  static const nlohmann::json kNull;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? kNull : *found;
}

std::string StringAt(const nlohmann::json& json, const char* key) {
  const nlohmann::json& member = MemberAt(json, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

std::string PathStep(std::string_view key) {
  std::string name(key);
  if (IsPlainWord(key) && key.size() <= 80) return "." + name;
  return "['" + Printable(name) + "']";
}

}  // namespace kuryr
