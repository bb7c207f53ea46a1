#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::watcher {

/// The text of the value at `path` ({"metadata", "name"}) in the JSON object `text`; empty if there
/// is none. Finds only where values begin and end, at any depth and without allocation. It does not
/// refuse malformed JSON, and its result is then meaningless. It does not find keys with escapes.
[[nodiscard]] std::optional<std::string_view> FindJsonText(
    std::string_view text, std::initializer_list<std::string_view> path);

/// Returns `text` with null in place of the value at `path`, if there is one.
[[nodiscard]] std::string WithNullAt(std::string_view text,
                                     std::initializer_list<std::string_view> path);

/// Calls `sink` with the text of every element of the JSON array `text`. Like FindJsonText, it does
/// not refuse malformed JSON. False when the array has no end.
[[nodiscard]] bool ForEachJsonText(std::string_view text,
                                   const std::function<void(std::string_view element)>& sink);

}  // namespace kuryr::watcher
