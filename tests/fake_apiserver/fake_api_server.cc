#include "tests/fake_apiserver/fake_api_server.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tests/fake_apiserver/control.h"
#include "tests/fake_apiserver/event_stream.h"
#include "tests/fake_apiserver/status.h"
#include "tests/support/paths.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

constexpr const char* kManager = "fake";

std::vector<Resource> AllResources(const Options& options) {
  std::vector<Resource> resources = BuiltInResources();
  resources.insert(resources.end(), options.custom_resources.begin(),
                   options.custom_resources.end());
  return resources;
}

LoggedRequest LogEntry(const HttpRequest& request, const RequestInfo& info) {
  return {.method = request.method,
          .target = request.target,
          .path = request.path,
          .verb = info.resource != nullptr ? info.verb : std::string(),
          .authorization = request.Header("authorization"),
          .user_agent = request.Header("user-agent"),
          .content_type = request.Header("content-type"),
          .body = request.body};
}

}  // namespace

std::string CertificateFile(const std::string& name) {
  return test::BinDir() + "/../tests/fake_apiserver/certificates/" + name;
}

TlsFiles TestTls() {
  return {.certificate = CertificateFile("server.crt"), .key = CertificateFile("server.key")};
}

FakeApiServer::FakeApiServer(const Options& options)
    : options_(options),
      resources_(AllResources(options)),
      store_(options.first_resource_version, [this] { hub_.NotifyAll(); }),
      registry_(store_),
      api_(resources_, store_, registry_, options.pace, options.streams_lists),
      auth_(options.users),
      server_(options.address, options.port, options.tls,
              [this](Connection& connection) { Serve(connection); }) {}

std::string FakeApiServer::url() const {
  const bool v6 = options_.address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + options_.address + "]" : options_.address;
  return (options_.tls ? "https://" : "http://") + host + ":" + std::to_string(port());
}

json FakeApiServer::Create(const json& object) {
  const Resource& resource = ResourceOf(object);
  const std::string ns = object.at("metadata").value("namespace", "default");
  return *registry_.Create(resource, resource.namespaced ? ns : "", object, Part::kAll, kManager);
}

json FakeApiServer::Patch(const std::string& plural, const std::string& ns, const std::string& name,
                          const json& merge_patch) {
  const Resource& resource = ResourceNamed(plural);
  const auto edit = [&](const json& present) {
    json next = present;
    next.merge_patch(merge_patch);
    return next;
  };
  return *registry_.Update(resource, KeyOf(resource, ns, name), edit, Part::kAll, kManager);
}

void FakeApiServer::Delete(const std::string& plural, const std::string& ns,
                           const std::string& name, int64_t grace_seconds) {
  const Resource& resource = ResourceNamed(plural);
  registry_.Delete(resource, KeyOf(resource, ns, name), {.grace_seconds = grace_seconds});
}

std::optional<json> FakeApiServer::Get(const std::string& plural, const std::string& ns,
                                       const std::string& name) const {
  const Object object = store_.Find(KeyOf(ResourceNamed(plural), ns, name));
  return object ? std::optional<json>(*object) : std::nullopt;
}

std::vector<json> FakeApiServer::List(const std::string& plural, const std::string& ns) const {
  std::vector<json> objects;
  for (const Object& object : store_.List(ResourceNamed(plural).QualifiedName(), ns).objects) {
    objects.push_back(*object);
  }
  return objects;
}

const Resource& FakeApiServer::ResourceOf(const json& object) const {
  const std::string kind = object.at("kind").get<std::string>();
  const auto found = std::find_if(resources_.begin(), resources_.end(),
                                  [&](const Resource& r) { return r.kind == kind; });
  if (found == resources_.end()) throw NoSuchResource();
  return *found;
}

const Resource& FakeApiServer::ResourceNamed(const std::string& plural) const {
  const auto found = std::find_if(resources_.begin(), resources_.end(),
                                  [&](const Resource& r) { return r.plural == plural; });
  if (found == resources_.end()) throw NoSuchResource();
  return *found;
}

bool FakeApiServer::WaitForRequest(const std::string& verb, const std::string& path_prefix,
                                   size_t count, std::chrono::milliseconds timeout) {
  return log_.WaitFor(verb, path_prefix, count, timeout);
}

bool FakeApiServer::WaitForWatches(size_t count, std::chrono::milliseconds timeout) {
  return hub_.WaitForCount(count, timeout);
}

void FakeApiServer::StopListening(std::optional<std::chrono::milliseconds> time) {
  server_.StopListening(time);
}

void FakeApiServer::CommandWatches(WatchCommand command) {
  command.version = store_.version();
  hub_.CommandAll(command);
}

void FakeApiServer::SendToWatches(const std::string& text) {
  CommandWatches({.kind = WatchCommand::Kind::kSend, .text = text});
}

void FakeApiServer::BookmarkWatches() { CommandWatches({.kind = WatchCommand::Kind::kBookmark}); }

void FakeApiServer::EndWatches() { CommandWatches({.kind = WatchCommand::Kind::kEnd}); }

void FakeApiServer::DropWatches() { CommandWatches({.kind = WatchCommand::Kind::kDrop}); }

void FakeApiServer::ExpireWatches() {
  const std::string version = std::to_string(store_.version());
  SendToWatches(stream_text::ExpiredError("too old resource version: 1 (" + version + ")"));
  EndWatches();
}

void FakeApiServer::Serve(Connection& connection) noexcept {
  try {
    while (const auto request = ReadRequest(connection)) {
      if (!Respond(connection, *request)) return;
    }
  } catch (const ParseError& e) {
    const Answer answer{
        .status = 400, .body = "400 Bad Request", .content_type = "text/plain; charset=utf-8"};
    if (WriteAnswer(connection, answer, false)) {
      Log(LogLevel::kWarning, "request refused", {{"error", e.what()}});
    }
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "connection failed", {{"error", e.what()}});
  }
}

bool FakeApiServer::Respond(Connection& connection, const HttpRequest& request) {
  if (request.path.starts_with("/fake/")) return RespondToControl(connection, request);
  const bool keep_alive = request.KeepAlive();
  const RequestInfo info = ParseRequestInfo(resources_, request);
  // Takes the fault before the request is logged: a test that waits for this request may send the
  // next one.
  const auto fault = faults_.Take(info.verb, request.path, request.target);
  log_.Add(LogEntry(request, info));
  if (fault && fault->kind != Fault::Kind::kTamper) {
    return RespondWithFault(connection, *fault, keep_alive);
  }
  try {
    Authorize(info, request, connection);
    if (info.resource != nullptr && info.verb == "watch") {
      return RunWatch(connection, api_.ParseWatch(info, request), fault ? fault->tamper : Tamper{},
                      keep_alive);
    }
    const Answer answer =
        info.resource != nullptr ? api_.Handle(info, request) : api_.HandlePath(request);
    return Send(connection, answer, keep_alive);
  } catch (const Refusal& refusal) {
    return Send(connection, refusal.answer(), keep_alive);
  } catch (const json::exception& e) {
    // A field has another type than in the API.
    return Send(connection, BadRequest(e.what()).answer(), keep_alive);
  }
}

void FakeApiServer::Authorize(RequestInfo info, const HttpRequest& request,
                              const Connection& connection) const {
  const User user = auth_.Identify(request, connection.peer_common_name());
  if (info.resource == nullptr) {
    static const std::vector<std::string> kOpen = {"/version", "/healthz", "/livez", "/readyz"};
    const bool is_open = std::find(kOpen.begin(), kOpen.end(), request.path) != kOpen.end();
    if (!is_open && user.verbs.empty()) throw ForbiddenPath(user.name, info.verb, request.path);
    return;
  }
  info.name = SelectedName(info, request);
  if (!IsAllowed(user, info)) throw Forbidden(user.name, info);
}

bool FakeApiServer::RunWatch(Connection& connection, const WatchRequest& request, Tamper tamper,
                             bool keep_alive) {
  EventStream stream(connection, std::move(tamper));
  Watch(stream, store_, request, options_.pace).Run(connection, hub_, keep_alive);
  return stream.finished() && keep_alive;
}

bool FakeApiServer::Send(Connection& connection, const Answer& answer, bool keep_alive) {
  if (answer.delay.count() > 0) {
    const Signal never;
    const auto at = Connection::Clock::now() + answer.delay;
    if (connection.WaitUntil(never, at) == Connection::Wake::kClosed) return false;
  }
  return WriteAnswer(connection, answer, keep_alive) && keep_alive;
}

bool FakeApiServer::RespondWithFault(Connection& connection, const Fault& fault, bool keep_alive) {
  if (fault.kind == Fault::Kind::kAnswer) return Send(connection, fault.answer, keep_alive);
  if (fault.kind == Fault::Kind::kSilence) connection.WaitForClose();
  connection.Abort();
  return false;
}

bool FakeApiServer::RespondToControl(Connection& connection, const HttpRequest& request) {
  const ControlResult result = HandleControl(*this, request);
  const bool next = Send(connection, result.answer, request.KeepAlive());
  if (result.then) result.then();
  return next;
}

}  // namespace kuryr::fake
