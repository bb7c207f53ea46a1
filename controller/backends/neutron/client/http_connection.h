#pragma once

#include <memory>
#include <string>

#include "controller/backends/neutron/client/neutron_config.h"
#include "watcher/connection_guard.h"
#include "watcher/credentials.h"

namespace httplib {
class ClientImpl;
struct Response;
}  // namespace httplib

namespace kuryr::controller::neutron {

struct HttpRequest {
  std::string what;  ///< for messages: "delete port ID"
  const char* method = "GET";
  std::string target;    ///< below the server's URL: "/ports?limit=2"
  std::string body;      ///< JSON; none when empty
  std::string token;     ///< X-Auth-Token; none when empty
  std::string if_match;  ///< If-Match; none when empty
};

/// An answer of any status, whole.
struct HttpAnswer {
  int status = 0;
  std::string content_type;
  std::string location;
  std::string retry_after;
  std::string subject_token;  ///< X-Subject-Token
  std::string body;           ///< of an error: its first 64 KiB
};

/// Which server: for messages ("Neutron"), and for connecting.
struct HttpServer {
  std::string name;
  std::string url;
  ServerAccess access;
};

/// One connection, made anew when the server has closed it or a certificate has changed on disk.
/// Not thread-safe, except for Stop(). Programs that use it ignore SIGPIPE.
class HttpConnection {
 public:
  /// Throws ParseError for a malformed URL.
  explicit HttpConnection(const HttpServer& server);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  /// Takes the server's timeout at most, and keeps at most 16 MiB. Throws NeutronError kUnavailable
  /// without a whole answer, and kUntrusted; it is uncertain() where a request that changes
  /// something was sent.
  [[nodiscard]] HttpAnswer Send(const HttpRequest& request);

  /// Thread-safe, for good: a request under way ends at once, as does every later one.
  void Stop() noexcept { guard_.Stop(); }

 private:
  class Reception;

  void Refresh();
  [[nodiscard]] std::unique_ptr<httplib::ClientImpl> Connect();
  [[noreturn]] void ThrowFailure(const HttpRequest& request, int error, bool answered);

  const HttpServer server_;
  const watcher::ApiRoot root_;
  const watcher::Credentials credentials_;
  watcher::ConnectionGuard guard_;
  int verify_error_ = 0;  ///< OpenSSL's, of the newest connection
  std::unique_ptr<httplib::ClientImpl> client_;
  std::string version_;  ///< Credentials::Version() that it was made with
};

}  // namespace kuryr::controller::neutron
