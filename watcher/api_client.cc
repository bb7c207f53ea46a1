#include "watcher/api_client.h"

#include <httplib.h>
#include <openssl/err.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "watcher/api_error.h"
#include "watcher/api_source.h"
#include "watcher/connect_failure.h"

namespace kuryr::watcher {
namespace {

using Clock = ConnectionGuard::Clock;
using std::chrono::seconds;

/// The largest page of a list, which stays text. Larger pages are requested again as smaller ones.
constexpr size_t kMaxList = size_t{64} << 20;
/// The largest object; etcd takes 1.5 MiB by default.
constexpr size_t kMaxObject = size_t{8} << 20;
constexpr size_t kMaxErrorBody = size_t{64} << 10;

std::optional<seconds> ParseSeconds(const std::string& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(seconds(number)) : std::nullopt;
}

const char* MediaTypeOf(PatchType type) {
  return type == PatchType::kMerge ? "application/merge-patch+json" : "application/json-patch+json";
}

/// The error in an answer that is no 2xx: its Status (meta/v1), or its text.
ApiError ErrorFrom(const std::string& request, const httplib::Response& response,
                   const std::string& body) {
  const std::string answered = "API server answered " + std::to_string(response.status);
  const std::string to = " (" + request + ")";
  auto retry_after = ParseSeconds(response.get_header_value("Retry-After"));
  if (response.status / 100 == 3) {
    return {response.status, "Redirect",
            answered + ", a redirect to " + Printable(response.get_header_value("Location"), 200) +
                "; name the API server itself in api_root" + to};
  }
  try {
    const nlohmann::json status = ParseJson(body);
    const auto details = status.find("details");
    if (!retry_after && details != status.end() && details->is_object()) {
      const unsigned delay = details->value("retryAfterSeconds", 0U);
      if (delay > 0) retry_after = seconds(delay);
    }
    return {response.status, status.value("reason", ""),
            answered + ": " + Printable(status.value("message", ""), 300) + to, retry_after};
  } catch (const std::exception&) {
    // 429 and proxies answer in plain text.
    return {response.status, "", answered + ": " + Printable(body, 200) + to, retry_after};
  }
}

ApiError NoKubernetes(const std::string& request, const httplib::Response& response) {
  return {response.status, "NotKubernetes",
          "the server answered with " + Printable(response.get_header_value("Content-Type"), 80) +
              " where Kubernetes answers with JSON; check api_root (" + request + ")"};
}

/// One answer on its way from httplib to a sink.
class Reception {
 public:
  Reception(std::string request, const ApiClient::Sink& sink)
      : request_(std::move(request)), sink_(sink) {}

  /// False ends the exchange.
  bool Begin(const httplib::Response& head) {
    head_.status = head.status;
    head_.headers = head.headers;
    if (!succeeded()) return true;
    if (head.get_header_value("Content-Type").starts_with("application/json")) return Take({});
    thrown_ = std::make_exception_ptr(NoKubernetes(request_, head_));
    return false;
  }
  /// False ends the exchange. An exception that crosses httplib breaks it; it waits for Finish.
  bool Take(std::string_view bytes) {
    try {
      if (!succeeded()) {
        error_body_.append(bytes.substr(0, kMaxErrorBody - error_body_.size()));
        return true;
      }
      done_ = !sink_(bytes);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return !done_ && !thrown_;
  }
  /// True when the sink wants no more bytes. Throws the sink's exception, and ApiError for an
  /// answer that is no 2xx.
  [[nodiscard]] bool Finish() const {
    if (thrown_) std::rethrow_exception(thrown_);
    if (answered() && !succeeded()) throw ErrorFrom(request_, head_, error_body_);
    return done_;
  }
  [[nodiscard]] bool answered() const { return head_.status > 0; }

 private:
  [[nodiscard]] bool succeeded() const { return head_.status / 100 == 2; }

  const std::string request_;
  const ApiClient::Sink& sink_;
  httplib::Response head_;  ///< without body
  std::string error_body_;
  std::exception_ptr thrown_;
  bool done_ = false;
};

}  // namespace

struct ApiClient::Call {
  const char* method;
  const std::string& path;
  std::string body;
  const char* media = nullptr;

  /// "GET /api/v1/pods": a watch's version would make each failure another one.
  [[nodiscard]] std::string text() const {
    return std::string(method) + " " + path.substr(0, path.find('?'));
  }
};

ApiClient::Peer::Peer(std::shared_ptr<const ApiConfig> said)
    : config(std::move(said)), root(ApiRoot::Parse(config->api_root)), credentials(*config, root) {}

ApiClient::ApiClient(const ApiConfig& config)
    : config_(config),
      peer_(std::make_unique<Peer>(config.source ? config.source->Newest()
                                                 : std::make_shared<const ApiConfig>(config))) {}

ApiClient::~ApiClient() = default;

void ApiClient::FindPeer() {
  if (!config_.source) return;
  auto newest = config_.source->Newest();
  if (newest == peer_->config) return;
  unary_.reset();
  peer_ = std::make_unique<Peer>(std::move(newest));
}

std::unique_ptr<httplib::ClientImpl> ApiClient::Connect() {
  auto client = peer_->credentials.NewClient(peer_->root, guard_, verify_error_);
  client->set_connection_timeout(config_.connect_timeout);
  client->set_write_timeout(config_.read_timeout);
  return client;
}

/// Called when no answer, or only part of one, has come.
void ApiClient::ThrowFailure(const Call& call, int error, bool answered) {
  const std::string server = "API server " + peer_->config->api_root;
  const std::string request = call.text();
  if (guard_.cut()) throw ApiUnavailable(server + ": request cancelled", request);
  if (guard_.timed_out()) {
    throw ApiUnavailable(
        server + (answered ? ": answer not finished in time" : ": no answer in time"), request);
  }
  switch (static_cast<httplib::Error>(error)) {
    case httplib::Error::SSLConnection: {
      if (verify_error_ != X509_V_OK) {
        throw ApiUntrusted(
            server + ": certificate refused: " + X509_verify_cert_error_string(verify_error_));
      }
      const char* reason = ERR_reason_error_string(ERR_peek_error());
      throw ApiUnavailable(server + ": TLS handshake failed: " +
                               (reason != nullptr ? reason : "connection closed or timed out"),
                           request);
    }
    case httplib::Error::Connection:
      throw ApiUnavailable(
          server + ": cannot connect: " + WhyNotConnected(peer_->root.host, peer_->root.port),
          request);
    case httplib::Error::ConnectionTimeout:
      throw ApiUnavailable(server + ": cannot connect: timed out", request);
    default:
      throw ApiUnavailable(server + ": connection broke off or fell silent (" +
                               httplib::to_string(static_cast<httplib::Error>(error)) + ")",
                           request);
  }
}

void ApiClient::Exchange(httplib::ClientImpl& client, const Call& call, Limits limits,
                         const Sink& sink) {
  Reception reception(call.text() + " as " + peer_->credentials.Identity(), sink);
  httplib::Request request;
  request.method = call.method;
  request.path = peer_->root.prefix + call.path;
  request.headers = {{"Accept", "application/json"},
                     {"Accept-Encoding", "gzip"},
                     {"User-Agent", "kuryr-cni/" KURYR_VERSION}};
  if (const std::string token = peer_->credentials.Authorization(); !token.empty()) {
    request.headers.emplace("Authorization", token);
  }
  if (call.media != nullptr) request.headers.emplace("Content-Type", call.media);
  request.body = call.body;
  Clock::time_point end = Clock::time_point::max();
  const auto listen_on = [&](Clock::time_point now) {
    guard_.MoveTo(std::min(end, now + limits.silence));
  };
  Clock::time_point heard;
  request.response_handler = [&](const httplib::Response& response) {
    heard = Clock::now();
    end = heard + limits.lifetime;
    listen_on(heard);
    return reception.Begin(response) && !guard_.stopped();
  };
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    // At most once a second: there may be a thousand events a second.
    if (const auto now = Clock::now(); now - heard > seconds(1)) listen_on(heard = now);
    return reception.Take({data, size}) && !guard_.stopped();
  };

  ERR_clear_error();
  verify_error_ = X509_V_OK;
  // The guard's deadlines come first, in every phase.
  const seconds begin = config_.connect_timeout + config_.read_timeout;
  client.set_read_timeout(begin + limits.lifetime);
  guard_.CutAt(Clock::now() + begin);
  httplib::Response response;
  auto error = httplib::Error::Success;
  const bool complete = client.send(request, response, error);
  guard_.NeverCut();

  if (reception.Finish()) return;
  const bool fell_silent = reception.answered() && guard_.timed_out() && Clock::now() < end;
  if (fell_silent && !guard_.cut()) return;
  if (!complete || guard_.cut()) {
    ThrowFailure(call, static_cast<int>(error), reception.answered());
  }
}

std::string ApiClient::Receive(const Call& call, size_t most) {
  FindPeer();
  // Certificates that were replaced on disk apply from the next request on.
  if (std::string version = peer_->credentials.Version();
      !unary_ || version != unary_version_ || !IsQuiet(unary_->socket())) {
    unary_ = Connect();
    unary_->set_keep_alive(true);
    unary_version_ = std::move(version);
  }
  std::string body;
  const Limits limits = {.lifetime = config_.read_timeout, .silence = config_.read_timeout};
  Exchange(*unary_, call, limits, [&](std::string_view bytes) {
    if (body.size() + bytes.size() > most) {
      throw ApiError(0, "AnswerTooLarge",
                     std::string(call.method) + " " + call.path + ": answer of more than " +
                         std::to_string(most) + " bytes");
    }
    body += bytes;
    return true;
  });
  return body;
}

nlohmann::json ApiClient::Answer(const Call& call) {
  const std::string body = Receive(call, kMaxObject);
  try {
    return ParseJson(body, {.max_bytes = kMaxObject});
  } catch (const ParseError& e) {
    throw ApiError(0, "Malformed", std::string(call.method) + " " + call.path + ": " + e.what());
  }
}

nlohmann::json ApiClient::Get(const std::string& path) {
  return Answer({.method = "GET", .path = path});
}

std::string ApiClient::GetText(const std::string& path) {
  return Receive({.method = "GET", .path = path}, kMaxList);
}

nlohmann::json ApiClient::Post(const std::string& path, const nlohmann::json& object) {
  return Answer(
      {.method = "POST", .path = path, .body = object.dump(), .media = "application/json"});
}

nlohmann::json ApiClient::Patch(const std::string& path, PatchType type,
                                const nlohmann::json& patch) {
  return Answer(
      {.method = "PATCH", .path = path, .body = patch.dump(), .media = MediaTypeOf(type)});
}

std::string ApiClient::PatchText(const std::string& path, PatchType type,
                                 const nlohmann::json& patch) {
  return Receive(
      {.method = "PATCH", .path = path, .body = patch.dump(), .media = MediaTypeOf(type)},
      kMaxObject);
}

nlohmann::json ApiClient::Delete(const std::string& path) {
  return Answer({.method = "DELETE", .path = path});
}

nlohmann::json ApiClient::Delete(const std::string& path, const nlohmann::json& options) {
  return Answer(
      {.method = "DELETE", .path = path, .body = options.dump(), .media = "application/json"});
}

void ApiClient::Stream(const std::string& path, Limits limits, const Sink& sink) {
  FindPeer();
  unary_.reset();  // the guard holds one connection
  const auto client = Connect();
  Exchange(*client, {.method = "GET", .path = path}, limits, sink);
}

}  // namespace kuryr::watcher
