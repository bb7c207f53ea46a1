#pragma once

#include <chrono>
#include <string>

#include "certificates/key.h"

// All functions throw CertificateError, and are thread-safe. A certificate is valid from up to five
// minutes ago on: other machines' clocks may be late.

namespace kuryr::certificates {

/// A key that signs other ones' certificates, and its own (RFC 5280).
[[nodiscard]] Identity MakeAuthority(const std::string& name, std::chrono::seconds lifetime);

/// A new key with a certificate of this common name, for both ends of a TLS connection.
[[nodiscard]] Identity Issue(const Identity& authority, const std::string& name,
                             std::chrono::seconds lifetime);

/// The certificate that the request asks for, as PEM. It has the request's public key and common
/// name, and nothing else of it.
[[nodiscard]] std::string Sign(const Identity& authority, const std::string& request,
                               std::chrono::seconds lifetime);

}  // namespace kuryr::certificates
