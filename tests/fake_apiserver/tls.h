#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/releaser.h"

namespace kuryr::fake {

using SslContextPtr = std::unique_ptr<SSL_CTX, Releaser<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Releaser<SSL_free>>;
using X509Ptr = std::unique_ptr<X509, Releaser<X509_free>>;

/// PEM files.
struct TlsFiles {
  std::string certificate;
  std::string key;
  /// When set, clients are asked for a certificate and only one from this authority is accepted.
  std::string client_ca;
  /// Clients without a certificate are turned away in the handshake.
  bool require_client_certificate = false;
};

/// A context for the server's side, TLS 1.2 or later. Throws std::runtime_error with the file's
/// name.
[[nodiscard]] SslContextPtr MakeServerContext(const TlsFiles& files);

/// The common name in the certificate's subject; empty when there is none.
[[nodiscard]] std::string CommonName(X509* certificate);

}  // namespace kuryr::fake
