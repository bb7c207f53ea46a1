#include "tests/fake_apiserver/api.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "tests/fake_apiserver/list_page.h"
#include "tests/fake_apiserver/patch.h"
#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

constexpr const char* kVersionBody = R"({
  "major": "1",
  "minor": "20",
  "gitVersion": "v1.20.2",
  "gitCommit": "debian",
  "gitTreeState": "clean",
  "buildDate": "2021-01-13T00:00:00Z",
  "goVersion": "go1.19.8",
  "compiler": "gc",
  "platform": "linux/amd64"
})";

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path);
  for (std::string part; std::getline(stream, part, '/');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool IsTrue(const std::string& text) { return text == "true" || text == "1"; }

std::string VerbOf(const HttpRequest& request, bool has_name) {
  if (request.method == "GET") {
    if (has_name) return "get";
    return IsTrue(request.Query("watch")) ? "watch" : "list";
  }
  static const std::map<std::string, std::string> kWithoutName = {{"POST", "create"},
                                                                  {"DELETE", "deletecollection"}};
  static const std::map<std::string, std::string> kWithName = {
      {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
  const auto& verbs = has_name ? kWithName : kWithoutName;
  const auto found = verbs.find(request.method);
  return found == verbs.end() ? LowerCase(request.method) : found->second;
}

struct Parts {
  std::string ns;
  std::string plural;
  std::string name;
  std::string subresource;
};

/// Parses the path behind the root of an API group: [namespaces NS] PLURAL [NAME [SUBRESOURCE]].
Parts ParseParts(const std::string& path) {
  std::vector<std::string> parts = SplitPath(path);
  Parts result;
  const bool in_namespace = parts.size() >= 3 && parts[0] == "namespaces" && parts[2] != "status" &&
                            parts[2] != "finalize";
  if (in_namespace) {
    result.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  parts.resize(3);
  result.plural = parts[0];
  result.name = parts[1];
  result.subresource = parts[2];
  return result;
}

/// "capture/1" → "capture"
std::string ManagerOf(const HttpRequest& request) {
  if (const std::string manager = request.Query("fieldManager"); !manager.empty()) return manager;
  const std::string agent = request.Header("user-agent");
  return agent.substr(0, agent.find('/'));
}

json ParseBody(const HttpRequest& request) {
  try {
    return ParseJson(request.body, {.max_bytes = 4 << 20});
  } catch (const ParseError& e) {
    throw BadRequest(std::string("the object provided is unrecognized: ") + e.what());
  }
}

Part PartOf(const RequestInfo& info) {
  return info.subresource == "status" ? Part::kStatus : Part::kObject;
}

}  // namespace

RequestInfo ParseRequestInfo(const std::vector<Resource>& resources, const HttpRequest& request) {
  for (const Resource& resource : resources) {
    const std::string root = resource.Root() + "/";
    if (!request.path.starts_with(root)) continue;
    const Parts parts = ParseParts(request.path.substr(root.size()));
    const bool right_scope =
        resource.namespaced ? parts.name.empty() || !parts.ns.empty() : parts.ns.empty();
    if (parts.plural != resource.plural || !right_scope) continue;
    return {.resource = &resource,
            .ns = parts.ns,
            .name = parts.name,
            .subresource = parts.subresource,
            .verb = VerbOf(request, !parts.name.empty())};
  }
  return {.verb = LowerCase(request.method)};
}

std::string SelectedName(const RequestInfo& info, const HttpRequest& request) {
  if (info.verb != "list" && info.verb != "watch") return info.name;
  return Selector(*info.resource, request.Query("fieldSelector"), "").ExactName().value_or("");
}

Answer Api::HandlePath(const HttpRequest& request) const {
  if (request.path == "/version") return {.body = kVersionBody};
  if (request.path == "/healthz" || request.path == "/livez" || request.path == "/readyz") {
    return {.body = "ok",
            .content_type = "text/plain; charset=utf-8",
            .headers = {{"X-Content-Type-Options", "nosniff"}}};
  }
  const bool known_group = std::any_of(
      resources_.begin(), resources_.end(),
      [&](const Resource& resource) { return request.path.starts_with(resource.Root() + "/"); });
  throw known_group ? NoSuchResource() : PageNotFound();
}

Answer Api::Handle(const RequestInfo& info, const HttpRequest& request) {
  const bool known_part =
      info.subresource.empty() || (info.subresource == "status" && info.resource->has_status);
  if (!known_part) throw NoSuchResource();
  if (info.verb == "get") return Get(info);
  if (info.verb == "list") return List(info, request);
  if (info.verb == "create") return Create(info, request);
  if (info.verb == "update") return Update(info, request);
  if (info.verb == "patch") return Patch(info, request);
  if (info.verb == "delete") return Delete(info, request);
  throw MethodNotAllowed();
}

WatchRequest Api::ParseWatch(const RequestInfo& info, const HttpRequest& request) const {
  auto from = ParseResourceVersion(request.Query("resourceVersion"));
  if (from == 0) from.reset();
  if (!streams_lists_ && !request.Query("resourceVersionMatch").empty())
    throw Invalid(*info.resource, "", "resourceVersionMatch", "FieldValueForbidden",
                  "Forbidden: resourceVersionMatch is forbidden for watch");
  const WatchRequest defaults{.selector = Selector(*info.resource, "", "")};
  return {.resource = info.resource,
          .ns = info.ns,
          .selector = Selector(*info.resource, request.Query("fieldSelector"),
                               request.Query("labelSelector")),
          .from = from,
          .bookmarks = IsTrue(request.Query("allowWatchBookmarks")),
          .streams_list = IsTrue(request.Query("sendInitialEvents")),
          .timeout_seconds =
              static_cast<int>(ParseNumber(request, "timeoutSeconds", defaults.timeout_seconds))};
}

Answer Api::Get(const RequestInfo& info) const {
  const Object object = store_.Find(KeyOf(*info.resource, info.ns, info.name));
  if (!object) throw NotFound(*info.resource, info.name);
  return JsonAnswer(*object);
}

Answer Api::List(const RequestInfo& info, const HttpRequest& request) const {
  const Selector selector(*info.resource, request.Query("fieldSelector"),
                          request.Query("labelSelector"));
  const std::string version = request.Query("resourceVersion");
  if (ParseResourceVersion(version) > store_.version()) {
    Answer answer = TooLargeResourceVersion(version, std::to_string(store_.version())).answer();
    answer.delay = pace_.second * pace_.future_list_wait;
    return answer;
  }
  const ListPage page = ParseListPage(request, store_);
  const auto snapshot = store_.List(info.resource->QualifiedName(), info.ns, page.version);
  return {.body = ListBody(*info.resource, snapshot, selector, page)};
}

Answer Api::Create(const RequestInfo& info, const HttpRequest& request) {
  if (info.resource->namespaced && info.ns.empty()) throw MethodNotAllowed();
  const Object object = registry_.Create(*info.resource, info.ns, ParseBody(request), Part::kObject,
                                         ManagerOf(request));
  return JsonAnswer(*object, 201);
}

Answer Api::Update(const RequestInfo& info, const HttpRequest& request) {
  json body = ParseBody(request);
  const Object object = registry_.Update(
      *info.resource, KeyOf(*info.resource, info.ns, info.name),
      [&](const json&) { return std::move(body); }, PartOf(info), ManagerOf(request));
  return JsonAnswer(*object);
}

Answer Api::Patch(const RequestInfo& info, const HttpRequest& request) {
  const PatchType type = ParsePatchType(*info.resource, request.Header("content-type"));
  const Object object = registry_.Update(
      *info.resource, KeyOf(*info.resource, info.ns, info.name),
      [&](const json& present) { return ApplyPatch(type, request.body, present); }, PartOf(info),
      ManagerOf(request));
  return JsonAnswer(*object);
}

Answer Api::Delete(const RequestInfo& info, const HttpRequest& request) {
  DeleteOptions options;
  if (!request.body.empty()) {
    const json body = ParseBody(request);
    if (body.contains("gracePeriodSeconds")) {
      options.grace_seconds = body.at("gracePeriodSeconds").get<int64_t>();
    }
    if (body.contains("preconditions")) options.uid = body.at("preconditions").value("uid", "");
  }
  if (!request.Query("gracePeriodSeconds").empty()) {
    options.grace_seconds = ParseNumber(request, "gracePeriodSeconds", 0);
  }
  const Deletion deletion =
      registry_.Delete(*info.resource, KeyOf(*info.resource, info.ns, info.name), options);
  if (!deletion.at_once) return JsonAnswer(*deletion.object);
  return JsonAnswer(DeletedStatus(*info.resource, info.name,
                                  deletion.object->at("metadata").at("uid").get<std::string>()));
}

}  // namespace kuryr::fake
