#pragma once

#include <stdexcept>
#include <string>

namespace kuryr::certificates {

/// A text is no certificate, key or request, or OpenSSL refuses to use it.
class CertificateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A private key and the certificate of its public key, both as PEM.
struct Identity {
  std::string key;
  std::string certificate;
};

/// A new private key, and what asks an authority for its certificate (PKCS #10), both as PEM.
struct KeyRequest {
  std::string key;
  std::string request;
};

/// A request whose certificate has this common name. The key is of the elliptic curve P-256. Throws
/// CertificateError. Thread-safe.
[[nodiscard]] KeyRequest MakeRequest(const std::string& name);

/// The common name that a request asks for. Throws CertificateError for one that is malformed, that
/// has another subject beside it, or that the private key of its public key has not signed.
/// Thread-safe.
[[nodiscard]] std::string NameIn(const std::string& request);

}  // namespace kuryr::certificates
