#include "controller/backends/neutron/client/http_connection.h"

#include <httplib.h>
#include <openssl/err.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "controller/backends/neutron/api/neutron_error.h"
#include "controller/backends/neutron/client/url.h"
#include "watcher/api_error.h"
#include "watcher/connect_failure.h"

namespace kuryr::controller::neutron {
namespace {

using Clock = watcher::ConnectionGuard::Clock;
using Kind = NeutronError::Kind;
using std::chrono::seconds;

constexpr size_t kMaxAnswer = size_t{16} << 20;
constexpr size_t kMaxErrorBody = size_t{64} << 10;
/// A server that is away should not cost a whole timeout.
constexpr seconds kConnecting{10};

watcher::ApiConfig ConfigOf(const HttpServer& server) {
  const ServerAccess& access = server.access;
  watcher::ApiConfig config{.api_root = server.url, .verify_server = access.verify};
  config.ca.file = access.ca_file;
  config.client_cert.file = access.cert_file;
  // As keystoneauth: a certificate's file may hold its key, too.
  config.client_key.file = access.key_file.empty() ? access.cert_file : access.key_file;
  return config;
}

/// Whether the server can have read the request.
bool WasSent(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::BindIPAddress:
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
      return false;
    default:
      return true;
  }
}

httplib::Request OutgoingOf(const HttpRequest& request) {
  httplib::Request outgoing;
  outgoing.method = request.method;
  outgoing.headers = {{"Accept", "application/json"}, {"User-Agent", "kuryr-cni/" KURYR_VERSION}};
  if (!request.token.empty()) outgoing.headers.emplace("X-Auth-Token", request.token);
  if (!request.if_match.empty()) outgoing.headers.emplace("If-Match", request.if_match);
  if (!request.body.empty()) outgoing.headers.emplace("Content-Type", "application/json");
  outgoing.body = request.body;
  return outgoing;
}

bool Changes(const HttpRequest& request) { return std::string_view(request.method) != "GET"; }

}  // namespace

/// One answer on its way from httplib.
class HttpConnection::Reception {
 public:
  /// True: go on.
  bool Begin(const httplib::Response& head) {
    answer_.status = head.status;
    answer_.content_type = head.get_header_value("Content-Type");
    answer_.location = head.get_header_value("Location");
    answer_.retry_after = head.get_header_value("Retry-After");
    answer_.subject_token = head.get_header_value("X-Subject-Token");
    return true;
  }
  /// False ends the exchange.
  bool Take(std::string_view bytes) {
    const bool succeeded = answer_.status / 100 == 2;
    const size_t room = (succeeded ? kMaxAnswer : kMaxErrorBody) - answer_.body.size();
    answer_.body.append(bytes.substr(0, room));
    too_large_ = bytes.size() > room;
    return !too_large_;
  }

  [[nodiscard]] bool answered() const { return answer_.status > 0; }
  [[nodiscard]] bool too_large() const { return too_large_; }
  /// The head of an error says enough without the rest of its body.
  [[nodiscard]] bool suffices() const { return too_large_ && answer_.status / 100 != 2; }
  [[nodiscard]] HttpAnswer Take() { return std::move(answer_); }

 private:
  HttpAnswer answer_;
  bool too_large_ = false;
};

HttpConnection::HttpConnection(const HttpServer& server)
    : server_(server), root_(ParseUrl(server.url)), credentials_(ConfigOf(server), root_) {}

HttpConnection::~HttpConnection() = default;

std::unique_ptr<httplib::ClientImpl> HttpConnection::Connect() {
  auto client = credentials_.NewClient(root_, guard_, verify_error_);
  client->set_connection_timeout(std::min(kConnecting, server_.access.timeout));
  client->set_read_timeout(server_.access.timeout + seconds(1));
  client->set_write_timeout(server_.access.timeout + seconds(1));
  client->set_keep_alive(true);
  return client;
}

void HttpConnection::Refresh() {
  std::string version = credentials_.Version();
  const bool usable = client_ && version == version_ && watcher::IsQuiet(client_->socket());
  if (usable) return;
  client_ = Connect();
  version_ = std::move(version);
}

/// Called when nothing, or only part of an answer, has come.
void HttpConnection::ThrowFailure(const HttpRequest& request, int error, bool answered) {
  const auto failure = static_cast<httplib::Error>(error);
  const NeutronError::Answer none{.uncertain = Changes(request) && (answered || WasSent(failure))};
  const std::string prefix = request.what + ": " + server_.name + " at " + server_.url + ": ";
  if (guard_.stopped()) throw NeutronError(Kind::kUnavailable, prefix + "request cancelled", none);
  if (guard_.timed_out()) {
    const std::string time = std::to_string(server_.access.timeout.count()) + " s";
    throw NeutronError(Kind::kUnavailable,
                       prefix + (answered ? "answer not finished in " : "no answer in ") + time +
                           " ([neutron] timeout)",
                       none);
  }
  if (failure == httplib::Error::SSLConnection && verify_error_ != X509_V_OK) {
    throw NeutronError(Kind::kUntrusted,
                       prefix +
                           "certificate refused: " + X509_verify_cert_error_string(verify_error_) +
                           "; [neutron] cafile names its authorities",
                       none);
  }
  if (failure == httplib::Error::SSLConnection) {
    const char* reason = ERR_reason_error_string(ERR_peek_error());
    throw NeutronError(Kind::kUnavailable,
                       prefix + "TLS handshake failed: " +
                           (reason != nullptr ? reason : "connection closed or timed out"),
                       none);
  }
  if (WasSent(failure)) {
    throw NeutronError(Kind::kUnavailable, prefix + "connection broke off before the answer's end",
                       none);
  }
  const std::string why = failure == httplib::Error::ConnectionTimeout
                              ? "timed out"
                              : watcher::WhyNotConnected(root_.host, root_.port);
  throw NeutronError(Kind::kUnavailable, prefix + "cannot connect: " + why, none);
}

HttpAnswer HttpConnection::Send(const HttpRequest& request) {
  httplib::Request outgoing = OutgoingOf(request);
  outgoing.path = root_.prefix + request.target;
  Reception reception;
  outgoing.response_handler = [&](const httplib::Response& head) { return reception.Begin(head); };
  outgoing.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    return reception.Take({data, size});
  };

  try {
    Refresh();
  } catch (const watcher::ApiUntrusted& e) {
    throw NeutronError(Kind::kUntrusted, request.what + ": " + server_.name + ": " + e.what(), {});
  }
  ERR_clear_error();
  verify_error_ = X509_V_OK;
  guard_.CutAt(Clock::now() + server_.access.timeout);
  httplib::Response response;
  auto error = httplib::Error::Success;
  const bool complete = client_->send(outgoing, response, error);
  guard_.NeverCut();

  // httplib calls no handler for a 204.
  if (complete && !reception.answered()) reception.Begin(response);
  if (!complete) client_.reset();
  if (complete || reception.suffices()) return reception.Take();
  if (reception.too_large()) {
    throw NeutronError(Kind::kUnavailable,
                       request.what + ": " + server_.name + " answers with more than " +
                           std::to_string(kMaxAnswer) + " bytes",
                       {.uncertain = Changes(request)});
  }
  ThrowFailure(request, static_cast<int>(error), reception.answered());
}

}  // namespace kuryr::controller::neutron
