#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::watcher {

/// The text of the value at `path` ({"metadata", "name"}) in the JSON object `text`; nothing where
/// there is none. Only looks for where values begin and end, at any depth and without memory. A
/// text that is no JSON is for a parser to refuse: what is found in it means nothing. Keys that are
/// written with escapes are not found.
[[nodiscard]] std::optional<std::string_view> FindJsonText(
    std::string_view text, std::initializer_list<std::string_view> path);

/// `text` with null in place of the value at `path`, if there is one.
[[nodiscard]] std::string WithNullAt(std::string_view text,
                                     std::initializer_list<std::string_view> path);

/// Calls `sink` with the text of every element of the JSON array `text`, found in the same way.
/// False when the array has no end.
[[nodiscard]] bool ForEachJsonText(std::string_view text,
                                   const std::function<void(std::string_view element)>& sink);

}  // namespace kuryr::watcher
