#include "watcher/list_pages.h"

#include <utility>

#include "base/error.h"
#include "watcher/api_error.h"
#include "watcher/list_page.h"
#include "watcher/query.h"

namespace kuryr::watcher {
namespace {

constexpr unsigned kPageSize = 500;
constexpr unsigned kSmaller = 10;

/// Gets a page. Reduces `size` if the objects are so large that ApiClient refuses the answer.
ListPage Page(ApiClient& client, const std::string& path, unsigned& size) {
  while (true) {
    try {
      return ListPage(client.GetText(WithQuery(path, "limit=" + std::to_string(size))));
    } catch (const ApiError& e) {
      if (e.reason() != "AnswerTooLarge" || size == 1) throw;
      size = size > kSmaller ? size / kSmaller : 1;
    }
  }
}

}  // namespace

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
