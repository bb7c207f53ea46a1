#include "tests/fake_apiserver/control.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/list_page.h"
#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

using Act = std::function<void(FakeApiServer&, const json&)>;

std::chrono::milliseconds Milliseconds(const json& fault, const char* key) {
  return std::chrono::milliseconds(fault.at(key).get<int64_t>());
}

/// Faults that act at once instead of waiting for a request.
const std::map<std::string, Act>& Acts() {
  static const std::map<std::string, Act> kActs = {
      {"refuse",
       [](FakeApiServer& s, const json& f) { s.StopListening(Milliseconds(f, "for_ms")); }},
      {"hang_connections",
       [](FakeApiServer& s, const json& f) { s.HangConnections(f.value("count", 1)); }},
      {"compact", [](FakeApiServer& s, const json&) { s.Compact(); }},
      {"send", [](FakeApiServer& s, const json& f) { s.SendToWatches(f.at("text")); }},
      {"bookmark_watches", [](FakeApiServer& s, const json&) { s.BookmarkWatches(); }},
      {"end_watches", [](FakeApiServer& s, const json&) { s.EndWatches(); }},
      {"drop_watches", [](FakeApiServer& s, const json&) { s.DropWatches(); }},
      {"expire_watches", [](FakeApiServer& s, const json&) { s.ExpireWatches(); }},
  };
  return kActs;
}

ControlResult AddFault(FakeApiServer& server, const json& fault) {
  ControlResult done{.answer = JsonAnswer(json::object(), 201)};
  const std::string kind = fault.at("kind").get<std::string>();
  const auto act = Acts().find(kind);
  if (act == Acts().end()) {
    server.Inject(FaultFromJson(fault));
    return done;
  }
  if (kind != "refuse") {
    act->second(server, fault);
    return done;
  }
  // "for_ms" is required: a port that stays closed could not be opened by a later request.
  static_cast<void>(Milliseconds(fault, "for_ms"));
  return {.answer = done.answer,
          .then = [&server, fault, run = act->second] { run(server, fault); }};
}

Answer RequestsAnswer(const FakeApiServer& server) {
  json requests = json::array();
  for (const LoggedRequest& request : server.Requests()) {
    requests.push_back({{"method", request.method},
                        {"target", request.target},
                        {"verb", request.verb},
                        {"user_agent", request.user_agent},
                        {"body", request.body}});
  }
  return JsonAnswer(requests);
}

Answer Wait(FakeApiServer& server, const HttpRequest& request) {
  const auto timeout = std::chrono::seconds(ParseNumber(request, "seconds", 10));
  const int64_t watches = ParseNumber(request, "watches", -1);
  const auto count = static_cast<size_t>(ParseNumber(request, "count", 1));
  const bool came = watches >= 0 ? server.WaitForWatches(static_cast<size_t>(watches), timeout)
                                 : server.WaitForRequest(request.Query("verb"),
                                                         request.Query("path"), count, timeout);
  return came ? JsonAnswer(json::object()) : Fault::Status(504, "it did not happen in time").answer;
}

}  // namespace

ControlResult HandleControl(FakeApiServer& server, const HttpRequest& request) {
  try {
    const std::string what = request.method + " " + request.path;
    if (what == "POST /fake/faults") return AddFault(server, ParseJson(request.body));
    if (what == "DELETE /fake/faults") {
      server.ClearFaults();
      return {.answer = JsonAnswer(json::object())};
    }
    if (what == "GET /fake/requests") return {.answer = RequestsAnswer(server)};
    if (what == "GET /fake/wait") return {.answer = Wait(server, request)};
    return {.answer = PageNotFound().answer()};
  } catch (const Refusal& e) {
    return {.answer = e.answer()};
  } catch (const std::exception& e) {
    return {.answer = BadRequest(e.what()).answer()};
  }
}

}  // namespace kuryr::fake
