#pragma once

#include <memory>
#include <string>

#include "watcher/api_config.h"
#include "watcher/api_root.h"

struct ssl_ctx_st;
namespace httplib {
class ClientImpl;
}  // namespace httplib

namespace kuryr::watcher {

class ConnectionGuard;

/// The client's identity, and the trusted identity of the API server. Without TLS the client sends
/// no identity, because others could read a token, and accepts any server. Files are read again at
/// every call. Throws ApiUntrusted for missing or malformed files; no text holds a secret.
/// Thread-safe.
class Credentials {
 public:
  /// `root` is the server to connect to.
  Credentials(const ApiConfig& config, const ApiRoot& root);

  /// The Authorization header's value; empty without a token.
  [[nodiscard]] std::string Authorization() const;

  /// Makes a client for `root`, not connected yet. `guard` guards all its connections, and the
  /// caller sets its timeouts. With TLS it has the client certificate, and OpenSSL verifies the
  /// server's chain and name in the handshake. `verify_error` gets OpenSSL's error
  /// (X509_V_ERR_...). This object, `guard` and `verify_error` outlive the client.
  [[nodiscard]] std::unique_ptr<httplib::ClientImpl> NewClient(const ApiRoot& root,
                                                               ConnectionGuard& guard,
                                                               int& verify_error) const;

  /// Differs from an earlier value when a certificate or key has changed on disk.
  [[nodiscard]] std::string Version() const;

  /// For people: "token /run/token".
  [[nodiscard]] std::string Identity() const;

 private:
  void Configure(ssl_ctx_st* context, int& verify_error) const;

  const Secret ca_;
  const Secret client_cert_;
  const Secret client_key_;
  const Secret token_;
  const bool withheld_;  ///< an identity, for want of TLS
  const bool verify_server_;
  const std::string server_name_;
};

/// Differs from an earlier value when another file is there, or none.
[[nodiscard]] std::string FileVersion(const std::string& file);

/// Logs a warning if the server's certificate is not verified (`unverified_by` says why), and if
/// the client withholds its identity.
void WarnOfInsecureApi(const ApiConfig& config, const std::string& unverified_by);

}  // namespace kuryr::watcher
