#include "watcher/list_pages.h"

#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "watcher/api_error.h"
#include "watcher/json_text.h"

namespace kuryr::watcher {
namespace {

constexpr unsigned kPageSize = 500;
constexpr unsigned kSmaller = 10;
/// The most items in an answer of ApiClient's largest size, at 256 bytes each. A server that
/// ignores the limit sends more than 500 items; larger answers are requested again as pages.
constexpr size_t kMostItems = size_t{1} << 18;

[[noreturn]] void ThrowNoList(const std::string& why) {
  throw ApiError(0, "Malformed", "API server answered with something else than a list: " + why);
}

/// The list without its items.
nlohmann::json ParseEnvelope(std::string_view body, std::string_view items) {
  const auto begin = static_cast<size_t>(items.data() - body.data());
  std::string envelope(body.substr(0, begin));
  envelope.append("[]").append(body.substr(begin + items.size()));
  try {
    return ParseJson(envelope);
  } catch (const ParseError& e) {
    ThrowNoList(e.what());
  }
}

/// Gets a page. Reduces `size` if the objects are so large that ApiClient refuses the answer.
ListPage Page(ApiClient& client, const std::string& path, unsigned& size) {
  while (true) {
    try {
      return ListPage(client.GetText(WithQuery(path, "limit=" + std::to_string(size))));
    } catch (const ApiError& e) {
      if (!e.IsTooLarge() || size == 1) throw;
      size = size > kSmaller ? size / kSmaller : 1;
    }
  }
}

}  // namespace

std::string WithQuery(const std::string& path, const std::string& query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + query;
}

std::string Escaped(const std::string& text) {
  static constexpr const char* kHex = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 0xf]};
    }
  }
  return escaped;
}

ListPage::ListPage(std::string body) : body_(std::move(body)) {
  items_ = FindJsonText(body_, {"items"}).value_or("");
  size_t count = 0;
  if (!ForEachJsonText(items_, [&](std::string_view) { ++count; }))
    ThrowNoList("no array of items");
  if (count > kMostItems)
    throw ApiError(0, "AnswerTooLarge",
                   "API server answered with " + std::to_string(count) + " items, at most " +
                       std::to_string(kMostItems) + " are taken at a time");
  const nlohmann::json envelope = ParseEnvelope(body_, items_);
  std::string& kind = item_type_.kind;
  kind = StringAt(envelope, "kind");
  if (kind.empty()) ThrowNoList("no kind");
  // "PodList" → "Pod"
  if (kind.ends_with("List")) kind.resize(kind.size() - 4);
  item_type_.api_version = StringAt(envelope, "apiVersion");
  const auto metadata = envelope.find("metadata");
  if (metadata == envelope.end() || !metadata->is_object()) return;
  version_ = StringAt(*metadata, "resourceVersion");
  continue_token_ = StringAt(*metadata, "continue");
  if (continue_token_.empty()) return;
  const auto remaining = metadata->find("remainingItemCount");
  const bool is_told = remaining != metadata->end() && remaining->is_number_unsigned();
  remaining_ = is_told ? std::optional(remaining->get<uint64_t>()) : std::nullopt;
}

void ListPage::ForEachItem(const std::function<void(std::string_view item)>& sink) const {
  (void)ForEachJsonText(items_, sink);
}

void ForEachListed(ApiClient& client, const std::string& path, const ListSinks& sinks) {
  unsigned size = kPageSize;
  std::string from = path;
  while (!from.empty()) {
    const ListPage page = Page(client, from, size);
    page.ForEachItem([&](std::string_view item) {
      try {
        sinks.item(ParseListItem(item, page.item_type()));
      } catch (const ParseError& e) {
        sinks.bad_item(e.what());
      }
    });
    const std::string& next = page.continue_token();
    from = next.empty() ? "" : WithQuery(path, "continue=" + Escaped(next));
  }
}

}  // namespace kuryr::watcher
