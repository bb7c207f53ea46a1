#include "certificates/certificate.h"

#include <ctime>

#include "certificates/openssl.h"

namespace kuryr::certificates {
namespace {

CertificateFacts::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  Require(ASN1_TIME_to_tm(time, &parts) == 1, "read a time of a certificate");
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

CertificateFacts ReadCertificate(const std::string& pem) {
  const X509Certificate certificate = ParseCertificate(pem);
  return {.name = CommonNameOf(X509_get_subject_name(certificate.get())),
          .from = TimeOf(X509_get0_notBefore(certificate.get())),
          .to = TimeOf(X509_get0_notAfter(certificate.get()))};
}

bool IsIssuedBy(const Identity& identity, const std::string& authority) noexcept {
  try {
    const X509Certificate issuer = ParseCertificate(authority);
    const X509Certificate certificate = ParseCertificate(identity.certificate);
    const Key key = ParseKey(identity.key);
    return X509_check_private_key(certificate.get(), key.get()) == 1 &&
           X509_verify(certificate.get(), X509_get0_pubkey(issuer.get())) == 1;
  } catch (const CertificateError&) {
    return false;
  }
}

}  // namespace kuryr::certificates
