#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "vif/path.h"

namespace kuryr::controller::neutron {

/// An object of an answer, read strictly: what is absent or null is empty, what is of another type
/// is a ParseError that names the field. Borrows document and path.
class AnswerObject {
 public:
  AnswerObject(const nlohmann::json& json, const vif::Path& path) : json_(json), path_(path) {
    if (!json.is_object()) path.Refuse(json, "an object");
  }

  /// Null when absent or null.
  [[nodiscard]] const nlohmann::json* Find(const char* key) const;
  [[nodiscard]] std::string Text(const char* key) const;
  [[nodiscard]] bool Flag(const char* key) const;
  /// 0 when absent or null.
  [[nodiscard]] int64_t Number(const char* key, int64_t least, int64_t most) const;
  [[nodiscard]] std::vector<std::string> Texts(const char* key) const;
  /// A UUID that has to be there.
  [[nodiscard]] std::string Id(const char* key) const;

  /// Parses the text by T::Parse; `expected` describes it. nullopt when it is absent or null.
  template <typename T>
  [[nodiscard]] std::optional<T> Parsed(const char* key, const char* expected) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    return ParsedText<T>(*value, vif::Path(path_, key), expected);
  }
  /// Parses the text by T::Parse; throws ParseError when it is absent.
  template <typename T>
  [[nodiscard]] T Required(const char* key, const char* expected) const {
    std::optional<T> value = Parsed<T>(key, expected);
    if (!value) RefuseMissing(key, expected);
    return *value;
  }

  /// Decodes each element by decode(const json&, const Path&).
  template <typename Decode>
  [[nodiscard]] auto List(const char* key, Decode decode) const {
    std::vector<std::invoke_result_t<Decode, const nlohmann::json&, const vif::Path&>> all;
    const nlohmann::json* list = Find(key);
    if (list == nullptr) return all;
    const vif::Path path(path_, key);
    if (!list->is_array()) path.Refuse(*list, "a list");
    all.reserve(list->size());
    for (size_t i = 0; i < list->size(); ++i) all.push_back(decode((*list)[i], vif::Path(path, i)));
    return all;
  }
  /// Decodes each element; throws ParseError when the list is absent.
  template <typename Decode>
  [[nodiscard]] auto RequiredList(const char* key, Decode decode) const {
    if (Find(key) == nullptr) RefuseMissing(key, "a list");
    return List(key, decode);
  }

  [[nodiscard]] const vif::Path& path() const noexcept { return path_; }
  [[noreturn]] void RefuseMissing(const char* key, const char* expected) const;

  /// An element of a list of texts.
  template <typename T>
  [[nodiscard]] static T ParsedText(const nlohmann::json& value, const vif::Path& path,
                                    const char* expected) {
    const auto parsed =
        value.is_string() ? T::Parse(value.get_ref<const std::string&>()) : std::optional<T>();
    if (!parsed) path.Refuse(value, expected);
    return *parsed;
  }

 private:
  const nlohmann::json& json_;
  const vif::Path& path_;
};

}  // namespace kuryr::controller::neutron
