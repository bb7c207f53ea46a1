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

/// Who we say we are to the API server, and whom we take for it. Without TLS we are nobody, as a
/// token in clear text is everybody's, and take anybody for it. What is in files is read anew at
/// every call. Thread-safe. Throws ApiUntrusted for what is missing or malformed; no text holds a
/// secret.
class Credentials {
 public:
  /// `root` is the one connected to.
  Credentials(const ApiConfig& config, const ApiRoot& root);

  /// The Authorization header's value; empty without a token.
  [[nodiscard]] std::string Authorization() const;

  /// A client for `root`, not connected yet, whose every connection `guard` holds; its timeouts are
  /// the caller's to set. With TLS it has the client certificate, and OpenSSL verifies the server's
  /// chain and name in the handshake. Its objection is left in `verify_error` (X509_V_ERR_...).
  /// This object, `guard` and `verify_error` outlive the client.
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

/// Warns in the log where the server's certificate is not verified (`unverified_by` says why), and
/// where there is an identity that the server is not sent.
void WarnOfInsecureApi(const ApiConfig& config, const std::string& unverified_by);

}  // namespace kuryr::watcher
