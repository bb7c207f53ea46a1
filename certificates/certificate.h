#pragma once

#include <chrono>
#include <string>

#include "certificates/key.h"

namespace kuryr::certificates {

/// What a certificate says.
struct CertificateFacts {
  using Time = std::chrono::system_clock::time_point;

  std::string name;  ///< the common name
  Time from;
  Time to;

  /// When a new one is due: after two thirds of its life.
  [[nodiscard]] Time RenewalAt() const { return from + (to - from) * 2 / 3; }
};

/// The first certificate of a text of PEM. Throws CertificateError. Thread-safe.
[[nodiscard]] CertificateFacts ReadCertificate(const std::string& pem);

/// Whether the certificate is the key's, and signed by the authority. Texts that are none are not.
/// Thread-safe.
[[nodiscard]] bool IsIssuedBy(const Identity& identity, const std::string& authority) noexcept;

}  // namespace kuryr::certificates
