#pragma once

#include <string>

#include "watcher/api_config.h"
#include "watcher/api_root.h"

struct ssl_ctx_st;

namespace kuryr::watcher {

/// Who we say we are to the API server, and whom we take for it: without TLS nobody, and anybody,
/// as a token in clear text is everybody's. What is in files is read anew at every call.
/// Thread-safe. Throws ApiUntrusted for what is missing or malformed; no text holds a secret.
class Credentials {
 public:
  /// `root` is the one connected to.
  Credentials(const ApiConfig& config, const ApiRoot& root);

  /// The Authorization header's value; empty without a token.
  [[nodiscard]] std::string Authorization() const;

  /// Gives a client's SSL_CTX the client certificate, and has OpenSSL verify the server's chain and
  /// name in the handshake; what it objects to is left in `verify_error` (X509_V_ERR_...). Both
  /// this object and `verify_error` outlive the context.
  void Configure(ssl_ctx_st* context, int& verify_error) const;

  /// Differs from an earlier value when a certificate or key has changed on disk.
  [[nodiscard]] std::string Version() const;

  /// For people: "token /run/token".
  [[nodiscard]] std::string Identity() const;

 private:
  const Secret ca_;
  const Secret client_cert_;
  const Secret client_key_;
  const Secret token_;
  const bool withheld_;  ///< an identity, for want of TLS
  const bool verify_server_;
  const std::string server_name_;
};

/// Says in the log that the server's certificate is not verified (`unverified_by` says why), and
/// that there is an identity which the server is not sent, where that is so.
void WarnOfInsecureApi(const ApiConfig& config, const std::string& unverified_by);

}  // namespace kuryr::watcher
