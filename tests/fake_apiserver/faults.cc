#include "tests/fake_apiserver/faults.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/fake_apiserver/status.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;

Fault::Kind ParseKind(const json& value) {
  static const std::map<std::string, Fault::Kind> kKinds = {{"answer", Fault::Kind::kAnswer},
                                                            {"silence", Fault::Kind::kSilence},
                                                            {"drop", Fault::Kind::kDrop},
                                                            {"tamper", Fault::Kind::kTamper}};
  const auto found = kKinds.find(value.get<std::string>());
  if (found == kKinds.end()) throw ParseError("$.kind", "found " + Printable(value.dump()));
  return found->second;
}

using Setter = std::function<void(Fault&, const json&)>;

const std::map<std::string, Setter>& Setters() {
  static const std::map<std::string, Setter> kSetters = {
      {"kind", [](Fault& f, const json& v) { f.kind = ParseKind(v); }},
      {"verb", [](Fault& f, const json& v) { v.get_to(f.verb); }},
      {"path", [](Fault& f, const json& v) { v.get_to(f.path_prefix); }},
      {"unless_query", [](Fault& f, const json& v) { v.get_to(f.unless_query); }},
      {"count", [](Fault& f, const json& v) { v.get_to(f.count); }},
      {"status", [](Fault& f, const json& v) { v.get_to(f.answer.status); }},
      {"body", [](Fault& f, const json& v) { v.get_to(f.answer.body); }},
      {"content_type", [](Fault& f, const json& v) { v.get_to(f.answer.content_type); }},
      {"retry_after",
       [](Fault& f, const json& v) { f.answer.headers.emplace_back("Retry-After", v.dump()); }},
      {"delay_ms", [](Fault& f, const json& v) { f.answer.delay = std::chrono::milliseconds(v); }},
      {"cut_after_bytes", [](Fault& f, const json& v) { f.tamper.cut_after_bytes = v; }},
      {"cut_after_events", [](Fault& f, const json& v) { f.tamper.cut_after_events = v; }},
      {"end_after_events", [](Fault& f, const json& v) { f.tamper.end_after_events = v; }},
      {"drip_bytes", [](Fault& f, const json& v) { v.get_to(f.tamper.drip_bytes); }},
      {"drip_pause_ms",
       [](Fault& f, const json& v) { f.tamper.drip_pause = std::chrono::milliseconds(v); }},
      {"line_end", [](Fault& f, const json& v) { v.get_to(f.tamper.line_end); }},
      {"insert", [](Fault& f, const json& v) { v.get_to(f.tamper.insert); }},
      {"insert_after_events",
       [](Fault& f, const json& v) { v.get_to(f.tamper.insert_after_events); }},
  };
  return kSetters;
}

}  // namespace

Fault Fault::Status(int code, const std::string& message) {
  const nlohmann::ordered_json status = {{"kind", "Status"},           {"apiVersion", "v1"},
                                         {"metadata", json::object()}, {"status", "Failure"},
                                         {"message", message},         {"code", code}};
  return {.kind = Kind::kAnswer, .answer = JsonAnswer(status, code)};
}

Fault Fault::TooManyRequests(int retry_after_seconds) {
  return {.kind = Kind::kAnswer,
          .answer = {.status = 429,
                     .body = "Too many requests, please try again later.\n",
                     .content_type = "text/plain; charset=utf-8",
                     .headers = {{"Retry-After", std::to_string(retry_after_seconds)},
                                 {"X-Content-Type-Options", "nosniff"}}}};
}

Fault Fault::Lagging(const std::string& path_prefix, int count) {
  return {.kind = Kind::kTamper,
          .verb = "watch",
          .path_prefix = path_prefix,
          .unless_query = "resourceVersion=",
          .count = count,
          .tamper = {.end_after_events = 0, .insert = stream_text::LaggingError()}};
}

void FaultPlan::Add(Fault fault) {
  const MutexLock lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FaultPlan::Clear() {
  const MutexLock lock(mutex_);
  faults_.clear();
}

std::optional<Fault> FaultPlan::Take(const std::string& verb, const std::string& path,
                                     const std::string& target) {
  const MutexLock lock(mutex_);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    const bool wrong_verb = !fault->verb.empty() && fault->verb != verb;
    const bool no_stream = fault->kind == Fault::Kind::kTamper && verb != "watch";
    if (wrong_verb || no_stream || !path.starts_with(fault->path_prefix)) continue;
    const std::string& query = fault->unless_query;
    if (!query.empty() && target.find(query, path.size()) != std::string::npos) continue;
    Fault taken = *fault;
    if (fault->count == 1) {
      faults_.erase(fault);
    } else if (fault->count > 1) {
      --fault->count;
    }
    return taken;
  }
  return std::nullopt;
}

Fault FaultFromJson(const json& object) {
  Fault fault;
  for (const auto& [key, value] : object.items()) {
    const auto setter = Setters().find(key);
    if (setter == Setters().end()) throw ParseError("$." + Printable(key), "unknown field");
    try {
      setter->second(fault, value);
    } catch (const json::exception& e) {
      throw ParseError("$." + key, e.what());
    }
  }
  return fault;
}

namespace stream_text {

std::string Garbage() { return "}{ this is no JSON \x01\x02\n"; }

std::string BlankLines() { return "\n\r\n   \n"; }

std::string HugeLine(size_t bytes) {
  return R"({"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"huge",)"
         R"("namespace":"default","annotations":{"filler":")" +
         std::string(bytes, 'x') + "\"}}}}\n";
}

std::string UnknownType() {
  return R"({"type":"RENAMED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}})"
         "\n";
}

std::string EventWithoutObject() { return "{\"type\":\"MODIFIED\"}\n"; }

std::string LaggingError() {
  return R"({"type":"ERROR","object":)" +
         json::parse(TooLargeResourceVersion("12", "9").answer().body).dump() + "}\n";
}

std::string ExpiredError(const std::string& message) {
  return R"({"type":"ERROR","object":)" + ExpiredStatus(message).dump() + "}\n";
}

}  // namespace stream_text

}  // namespace kuryr::fake
