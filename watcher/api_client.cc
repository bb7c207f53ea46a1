#include "watcher/api_client.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/ip.h"
#include "base/json.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

constexpr size_t kMaxAnswer = size_t{64} << 20;
constexpr size_t kMaxErrorBody = size_t{64} << 10;

/// First line of the file. Its value never reaches an error text.
std::string ReadToken(const std::string& file) {
  std::ifstream in(file);
  std::string token;
  if (!std::getline(in, token)) {
    throw ApiUntrusted("token file " + file + " of [kubernetes] token_file is missing or empty");
  }
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  for (const char c : token) {
    if (c <= 0x20 || c == 0x7f) {
      throw ApiUntrusted("token file " + file + " holds characters that no bearer token has");
    }
  }
  return token;
}

httplib::Headers RequestHeaders(const ApiConfig& config) {
  httplib::Headers headers = {{"Accept", "application/json"},
                              {"User-Agent", "kuryr-cni/" KURYR_VERSION}};
  if (!config.token_file.empty()) {
    headers.emplace("Authorization", "Bearer " + ReadToken(config.token_file));
  }
  return headers;
}

ApiError ErrorFrom(int status, const std::string& body, const std::string& retry_after) {
  std::string reason;
  std::string message;
  try {
    const nlohmann::json object = ParseJson(body);
    reason = object.value("reason", "");
    message = object.value("message", "");
  } catch (const std::exception&) {
    message = Printable(body, 200);  // 429 and proxies answer in plain text
  }
  std::optional<std::chrono::seconds> delay;
  unsigned seconds = 0;
  if (std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), seconds).ec ==
      std::errc()) {
    delay = std::chrono::seconds(seconds);
  }
  return {status, reason,
          "API server answered " + std::to_string(status) + ": " + Printable(message, 300), delay};
}

/// Keeps OpenSSL's word on the server's certificate where ApiClient finds it (X509_V_ERR_...).
int KeepVerifyError(int ok, X509_STORE_CTX* store) {
  if (ok == 0) {
    const auto* connection =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    *static_cast<int*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection))) =
        X509_STORE_CTX_get_error(store);
  }
  return ok;
}

/// Has OpenSSL verify the server's chain and name in the handshake. httplib 0.11.4 does it after
/// the handshake, and compares IP addresses with memory that is not theirs: a certificate for
/// another address may pass, and an IPv6 host reads out of bounds.
void VerifyServer(httplib::SSLClient& client, const ApiConfig& config, const std::string& host,
                  int& verify_error) {
  SSL_CTX* context = client.ssl_context();
  const int loaded = config.ca_file.empty()
                         ? SSL_CTX_set_default_verify_paths(context)
                         : SSL_CTX_load_verify_file(context, config.ca_file.c_str());
  if (loaded != 1)
    throw ApiUntrusted("cannot read the certificate authorities in " + config.ca_file);
  X509_VERIFY_PARAM* parameters = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const auto address = IpAddress::Parse(host);
  const int named =
      address ? X509_VERIFY_PARAM_set1_ip(parameters, address->bytes.data(), address->size())
              : X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size());
  if (named != 1) throw ApiUntrusted("no certificate can be verified for the name " + host);
  SSL_CTX_set_app_data(context, &verify_error);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, KeepVerifyError);
}

}  // namespace

ApiRoot ApiRoot::Parse(const std::string& text) {
  const auto fail = [&](const char* why) -> ParseError {
    return {"[kubernetes] api_root",
            "\"" + Printable(text) + "\" " + why + "; expected http(s)://HOST[:PORT][/PATH]"};
  };
  ApiRoot root;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    root.tls = false;
  } else {
    throw fail("has no scheme");
  }
  root.port = root.tls ? 443 : 80;

  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    root.prefix = rest.substr(slash);
    while (root.prefix.ends_with('/')) root.prefix.pop_back();
    rest = rest.substr(0, slash);
  }
  const bool bracketed = rest.starts_with('[');
  const size_t host_end = bracketed ? rest.find(']') : rest.find(':');
  if (bracketed && host_end == std::string_view::npos) throw fail("lacks a ]");
  root.host = rest.substr(bracketed ? 1 : 0, bracketed ? host_end - 1 : host_end);
  if (root.host.empty()) throw fail("has no host");

  std::string_view port =
      host_end == std::string_view::npos ? "" : rest.substr(host_end + (bracketed ? 1 : 0));
  if (port.empty()) return root;
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), root.port);
  if (error != std::errc() || end != port.data() + port.size() || root.port < 1 ||
      root.port > 65535) {
    throw fail("has a malformed port");
  }
  return root;
}

ApiClient::ApiClient(ApiConfig config)
    : config_(std::move(config)), root_(ApiRoot::Parse(config_.api_root)) {}

ApiClient::~ApiClient() = default;

std::unique_ptr<httplib::ClientImpl> ApiClient::Connect() {
  // A token wins over a client certificate, as in Kuryr.
  const bool use_cert = config_.token_file.empty() && !config_.client_cert_file.empty();
  const std::string cert = use_cert ? config_.client_cert_file : "";
  const std::string key = use_cert ? config_.client_key_file : "";
  std::unique_ptr<httplib::ClientImpl> client;
  if (root_.tls) {
    auto tls = std::make_unique<httplib::SSLClient>(root_.host, root_.port, cert, key);
    if (!tls->is_valid()) {
      throw ApiUntrusted("client certificate " + cert + " or key " + key +
                         " is missing or malformed");
    }
    verify_error_ = X509_V_OK;
    tls->enable_server_certificate_verification(false);
    if (config_.verify_server) VerifyServer(*tls, config_, root_.host, verify_error_);
    client = std::move(tls);
  } else {
    client = std::make_unique<httplib::ClientImpl>(root_.host, root_.port);
  }
  client->set_connection_timeout(config_.connect_timeout);
  client->set_read_timeout(config_.read_timeout);
  client->set_write_timeout(config_.read_timeout);
  client->set_tcp_nodelay(true);
  client->set_url_encode(false);
  client->set_socket_options([this](int socket) { Adopt(socket); });
  return client;
}

void ApiClient::Adopt(int socket) {
  const MutexLock lock(mutex_);
  if (stopped_) {
    // The connect that follows fails at once on what is no socket.
    const UniqueFd no_socket(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::dup2(no_socket.get(), socket);
    return;
  }
  socket_.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
}

void ApiClient::Stop() noexcept {
  const MutexLock lock(mutex_);
  stopped_ = true;
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

bool ApiClient::Stopped() {
  const MutexLock lock(mutex_);
  return stopped_;
}

void ApiClient::ThrowFailure(int error) {
  const std::string server = "API server " + config_.api_root;
  if (Stopped()) throw ApiUnavailable(server + ": request cancelled");
  switch (static_cast<httplib::Error>(error)) {
    case httplib::Error::SSLConnection:
      if (verify_error_ != X509_V_OK) {
        throw ApiUntrusted(
            server + ": certificate refused: " + X509_verify_cert_error_string(verify_error_));
      }
      throw ApiUnavailable(server + ": TLS handshake failed");
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      throw ApiUnavailable(server + ": cannot connect");
    default:
      throw ApiUnavailable(server + ": connection broke off or fell silent (" +
                           httplib::to_string(static_cast<httplib::Error>(error)) + ")");
  }
}

template <typename Call>
nlohmann::json ApiClient::Answer(const Call& call) {
  if (!unary_) {
    unary_ = Connect();
    unary_->set_keep_alive(true);
  }
  const httplib::Result result = call(*unary_, RequestHeaders(config_));
  if (!result) ThrowFailure(static_cast<int>(result.error()));
  if (result->status / 100 != 2) {
    throw ErrorFrom(result->status, result->body, result->get_header_value("Retry-After"));
  }
  return ParseJson(result->body, {.max_bytes = kMaxAnswer});
}

nlohmann::json ApiClient::Get(const std::string& path) {
  return Answer([&](httplib::ClientImpl& client, const httplib::Headers& headers) {
    return client.Get(root_.prefix + path, headers);
  });
}

nlohmann::json ApiClient::Post(const std::string& path, const nlohmann::json& object) {
  return Answer([&](httplib::ClientImpl& client, const httplib::Headers& headers) {
    return client.Post(root_.prefix + path, headers, object.dump(), "application/json");
  });
}

nlohmann::json ApiClient::Patch(const std::string& path, PatchType type,
                                const nlohmann::json& patch) {
  const char* media =
      type == PatchType::kMerge ? "application/merge-patch+json" : "application/json-patch+json";
  return Answer([&](httplib::ClientImpl& client, const httplib::Headers& headers) {
    return client.Patch(root_.prefix + path, headers, patch.dump(), media);
  });
}

nlohmann::json ApiClient::Delete(const std::string& path) {
  return Answer([&](httplib::ClientImpl& client, const httplib::Headers& headers) {
    return client.Delete(root_.prefix + path, headers);
  });
}

void ApiClient::Stream(const std::string& path, const Sink& sink) {
  const auto client = Connect();
  int status = 0;
  std::string retry_after;
  std::string error_body;
  std::exception_ptr thrown;
  bool sink_is_done = false;

  // An exception that crosses httplib breaks it; it waits here until httplib has returned.
  const auto on_headers = [&](const httplib::Response& response) {
    status = response.status;
    retry_after = response.get_header_value("Retry-After");
    return !Stopped();
  };
  const auto on_content = [&](const char* data, size_t size) {
    try {
      if (status == 200) {
        sink_is_done = !sink({data, size});
      } else if (error_body.size() < kMaxErrorBody) {
        error_body.append(data, size);
      }
    } catch (...) {
      thrown = std::current_exception();
    }
    return !sink_is_done && !thrown && !Stopped();
  };
  const httplib::Result result =
      client->Get(root_.prefix + path, RequestHeaders(config_), on_headers, on_content);

  if (thrown) std::rethrow_exception(thrown);
  if (sink_is_done) return;
  if (status != 0 && status != 200) throw ErrorFrom(status, error_body, retry_after);
  if (!result) ThrowFailure(static_cast<int>(result.error()));
}

}  // namespace kuryr::watcher
