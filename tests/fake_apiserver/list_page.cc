#include "tests/fake_apiserver/list_page.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
std::optional<Number> NumberFrom(const std::string& text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string PositionOf(const nlohmann::json& object) {
  const auto& metadata = object.at("metadata");
  return metadata.value("namespace", "") + "/" + metadata.value("name", "");
}

/// With a limit, and without resourceVersionMatch, a version other than 0 means exactly that one
/// (Kubernetes API concepts, resource versions: "legacy" Exact).
bool MeansExactly(const std::string& match, std::optional<uint64_t> version, const ListPage& page) {
  if (!match.empty()) return match == "Exact";
  return version.value_or(0) != 0 && page.limit != SIZE_MAX;
}

void ReadContinueToken(const std::string& token, const ObjectStore& store, ListPage& page) {
  const size_t colon = token.find(':');
  page.version = NumberFrom<uint64_t>(token.substr(0, colon));
  if (!page.version || colon == std::string::npos) {
    throw BadRequest("continue key is not valid: " + token);
  }
  page.after = token.substr(colon + 1);
  if (*page.version < store.compacted()) {
    throw Expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results.");
  }
}

}  // namespace

std::optional<uint64_t> ParseResourceVersion(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto version = NumberFrom<uint64_t>(text);
  if (!version) {
    throw InternalError("resourceVersion: Invalid value: \"" + text +
                        "\": strconv.ParseUint: parsing \"" + text + "\": invalid syntax");
  }
  return version;
}

int64_t ParseNumber(const HttpRequest& request, const std::string& name, int64_t fallback) {
  const std::string text = request.Query(name);
  if (text.empty()) return fallback;
  const auto number = NumberFrom<int64_t>(text);
  if (!number)
    throw BadRequest(name + ": strconv.ParseInt: parsing \"" + text + "\": invalid syntax");
  return *number;
}

ListPage ParseListPage(const HttpRequest& request, const ObjectStore& store) {
  ListPage page;
  const int64_t limit = ParseNumber(request, "limit", 0);
  if (limit > 0) page.limit = static_cast<size_t>(limit);
  const std::string text = request.Query("resourceVersion");
  const auto version = ParseResourceVersion(text);
  const std::string token = request.Query("continue");
  if (!token.empty()) {
    if (!text.empty()) {
      throw BadRequest("specifying resource version is not allowed when using continue");
    }
    ReadContinueToken(token, store, page);
    return page;
  }
  if (MeansExactly(request.Query("resourceVersionMatch"), version, page)) {
    if (version && *version < store.compacted()) {
      throw Expired("The resourceVersion for the provided list is too old.");
    }
    page.version = version;
  }
  return page;
}

std::string ListBody(const Resource& resource, const ObjectStore::Snapshot& snapshot,
                     const Selector& selector, const ListPage& page) {
  std::vector<Object> found;
  for (const Object& object : snapshot.objects) {
    const bool seen_before = !page.after.empty() && PositionOf(*object) <= page.after;
    if (!seen_before && selector.Matches(*object)) found.push_back(object);
  }
  const size_t shown = std::min(found.size(), page.limit);

  Json metadata = {{"resourceVersion", std::to_string(snapshot.version)}};
  if (shown < found.size()) {
    metadata["continue"] =
        std::to_string(snapshot.version) + ":" + PositionOf(*found.at(shown - 1));
    if (selector.empty()) metadata["remainingItemCount"] = found.size() - shown;
  } else if (resource.custom) {
    metadata["continue"] = "";
  }
  Json items = Json::array();
  for (size_t i = 0; i < shown; ++i) {
    Json item = *found[i];
    if (!resource.custom) {
      item.erase("kind");
      item.erase("apiVersion");
    }
    items.push_back(std::move(item));
  }
  return Json({{"kind", resource.kind + "List"},
               {"apiVersion", resource.ApiVersion()},
               {"metadata", metadata},
               {"items", items}})
             .dump() +
         "\n";
}

}  // namespace kuryr::fake
