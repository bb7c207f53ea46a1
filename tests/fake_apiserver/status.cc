#include "tests/fake_apiserver/status.h"

#include <optional>

namespace kuryr::fake {
namespace {

using Json = nlohmann::ordered_json;

/// Leaves out what is empty, as Go's omitempty does; `details` may be given and empty.
Json MakeStatus(int code, const std::string& message, const std::string& reason,
                const std::optional<Json>& details = {}) {
  Json status = {{"kind", "Status"},
                 {"apiVersion", "v1"},
                 {"metadata", Json::object()},
                 {"status", "Failure"},
                 {"message", message}};
  if (!reason.empty()) status["reason"] = reason;
  if (details) status["details"] = *details;
  status["code"] = code;
  return status;
}

Refusal MakeRefusal(int code, const std::string& message, const std::string& reason,
                    const std::optional<Json>& details = {}) {
  return Refusal(JsonAnswer(MakeStatus(code, message, reason, details), code));
}

Json Details(const std::string& name, const Resource& resource, const std::string& kind) {
  Json details = Json::object();
  if (!name.empty()) details["name"] = name;
  if (!resource.group.empty()) details["group"] = resource.group;
  details["kind"] = kind;
  return details;
}

Refusal WithNosniff(const Refusal& refusal) {
  Answer answer = refusal.answer();
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return Refusal(std::move(answer));
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

Refusal Unauthorized() { return MakeRefusal(401, "Unauthorized", "Unauthorized"); }

Refusal Forbidden(const std::string& user, const RequestInfo& info) {
  const Resource& resource = *info.resource;
  const std::string what =
      info.subresource.empty() ? resource.plural : resource.plural + "/" + info.subresource;
  const std::string where =
      info.ns.empty() ? "at the cluster scope" : "in the namespace " + Quoted(info.ns);
  const std::string message =
      resource.QualifiedName() + (info.name.empty() ? "" : " " + Quoted(info.name)) +
      " is forbidden: User " + Quoted(user) + " cannot " + info.verb + " resource " + Quoted(what) +
      " in API group " + Quoted(resource.group) + " " + where;
  return WithNosniff(
      MakeRefusal(403, message, "Forbidden", Details(info.name, resource, resource.plural)));
}

Refusal ForbiddenPath(const std::string& user, const std::string& verb, const std::string& path) {
  return WithNosniff(MakeRefusal(
      403, "forbidden: User " + Quoted(user) + " cannot " + verb + " path " + Quoted(path),
      "Forbidden", Json::object()));
}

Refusal PageNotFound() {
  return WithNosniff(Refusal(Answer{
      .status = 404, .body = "404 page not found\n", .content_type = "text/plain; charset=utf-8"}));
}

Refusal NoSuchResource() {
  return MakeRefusal(404, "the server could not find the requested resource", "NotFound",
                     Json::object());
}

Refusal NotFound(const Resource& resource, const std::string& name) {
  return MakeRefusal(404, resource.QualifiedName() + " " + Quoted(name) + " not found", "NotFound",
                     Details(name, resource, resource.plural));
}

Refusal MethodNotAllowed() {
  return MakeRefusal(405, "the server does not allow this method on the requested resource",
                     "MethodNotAllowed", Json::object());
}

Refusal AlreadyExists(const Resource& resource, const std::string& name) {
  return MakeRefusal(409, resource.QualifiedName() + " " + Quoted(name) + " already exists",
                     "AlreadyExists", Details(name, resource, resource.plural));
}

Refusal Conflict(const Resource& resource, const std::string& name, const std::string& why) {
  return MakeRefusal(409,
                     "Operation cannot be fulfilled on " + resource.QualifiedName() + " " +
                         Quoted(name) + ": " + why,
                     "Conflict", Details(name, resource, resource.plural));
}

Refusal Expired(const std::string& message) { return MakeRefusal(410, message, "Expired"); }

Refusal UnsupportedPatch(const Resource& resource) {
  if (!resource.custom) {
    return MakeRefusal(415, "415: Unsupported Media Type", "UnsupportedMediaType", Json::object());
  }
  return MakeRefusal(415,
                     "the body of the request was in an unknown format - accepted media types "
                     "include: application/json-patch+json, application/merge-patch+json, "
                     "application/apply-patch+yaml",
                     "UnsupportedMediaType");
}

Refusal PatchDoesNotApply() {
  return MakeRefusal(422, "the server rejected our request due to an error in our request",
                     "Invalid", Json::object());
}

Refusal Invalid(const Resource& resource, const std::string& name, const std::string& field,
                const std::string& reason, const std::string& message) {
  Json details = Details(name, resource, resource.kind);
  details["causes"] =
      Json::array({Json{{"reason", reason}, {"message", message}, {"field", field}}});
  const std::string kind =
      resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
  return MakeRefusal(422, kind + " " + Quoted(name) + " is invalid: " + field + ": " + message,
                     "Invalid", details);
}

Refusal BadRequest(const std::string& message) { return MakeRefusal(400, message, "BadRequest"); }

Refusal InternalError(const std::string& message) { return MakeRefusal(500, message, ""); }

Refusal TooLargeResourceVersion(const std::string& asked, const std::string& current) {
  Json details = {{"causes", Json::array({Json{{"reason", "ResourceVersionTooLarge"},
                                               {"message", "Too large resource version"}}})},
                  {"retryAfterSeconds", 1}};
  Answer answer =
      MakeRefusal(504, "Timeout: Too large resource version: " + asked + ", current: " + current,
                  "Timeout", details)
          .answer();
  answer.headers.emplace_back("Retry-After", "1");
  return Refusal(std::move(answer));
}

Json ExpiredStatus(const std::string& message) { return MakeStatus(410, message, "Expired"); }

Json DeletedStatus(const Resource& resource, const std::string& name, const std::string& uid) {
  Json details = Details(name, resource, resource.plural);
  details["uid"] = uid;
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", Json::object()},
          {"status", "Success"},
          {"details", details}};
}

Answer JsonAnswer(const nlohmann::ordered_json& body, int status) {
  return {.status = status, .body = body.dump() + "\n"};
}

Answer JsonAnswer(const nlohmann::json& body, int status) {
  return {.status = status, .body = body.dump() + "\n"};
}

}  // namespace kuryr::fake
