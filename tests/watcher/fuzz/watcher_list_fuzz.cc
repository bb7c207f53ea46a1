#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "watcher/api_error.h"
#include "watcher/event_parser.h"
#include "watcher/list_pages.h"

namespace {

using nlohmann::json;

void Require(bool property) {
  if (!property) std::abort();
}

/// If the body is JSON with one "items", the page has all of them, in order.
void RequireSameAsParsed(const std::string& body, const std::vector<std::string_view>& items) {
  constexpr std::string_view kItems = "\"items\"";
  const size_t first = body.find(kItems);
  const bool once = first != std::string::npos && body.find(kItems, first + 1) == std::string::npos;
  const json parsed = json::parse(body, nullptr, false);
  if (!once || parsed.is_discarded() || body.find('\\') != std::string::npos) return;
  const json& expected = parsed.at("items");
  Require(expected.size() == items.size());
  for (size_t i = 0; i < items.size(); ++i) Require(json::parse(items[i]) == expected[i]);
}

void RequireEventOrError(std::string_view item, const kuryr::watcher::ItemType& type) {
  static kuryr::watcher::EventParser parser;
  try {
    Require(parser.ParseItem(item, type).object->is_object());
  } catch (const kuryr::ParseError&) {
    // The expected end of every malformed item.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  try {
    const kuryr::watcher::ListPage page(body);
    std::vector<std::string_view> items;
    page.ForEachItem([&](std::string_view item) { items.push_back(item); });
    RequireSameAsParsed(body, items);
    for (const std::string_view item : items) RequireEventOrError(item, page.item_type());
  } catch (const kuryr::watcher::ApiError&) {
    // The expected end of every answer that is no list.
  }
  return 0;
}
