#pragma once

// What the sources of this folder share of OpenSSL 3: owners of its objects, and PEM.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace kuryr::certificates {

template <auto kFree>
struct Freer {
  template <typename Object>
  void operator()(Object* object) const noexcept {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<&BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<&EVP_PKEY_free>>;
using X509Certificate = std::unique_ptr<X509, Freer<&X509_free>>;
using X509Request = std::unique_ptr<X509_REQ, Freer<&X509_REQ_free>>;

/// Throws CertificateError with OpenSSL's reason if `done` is false.
void Require(bool done, const char* what);
[[nodiscard]] Bio Reader(const std::string& text);
[[nodiscard]] std::string TextOf(BIO* bio);
[[nodiscard]] Key NewKey();
[[nodiscard]] Key ParseKey(const std::string& pem);
[[nodiscard]] std::string ToPem(EVP_PKEY* key);
/// The first certificate of the text.
[[nodiscard]] X509Certificate ParseCertificate(const std::string& pem);
[[nodiscard]] X509Request ParseRequest(const std::string& pem);
/// The one common name that is the whole subject; throws CertificateError for another subject.
[[nodiscard]] std::string CommonNameOf(const X509_NAME* subject);
void SetCommonName(X509_NAME* subject, const std::string& name);

}  // namespace kuryr::certificates
