#include "certificates/signing.h"

#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "certificates/openssl.h"

namespace kuryr::certificates {
namespace {

/// How late another machine's clock may be.
std::chrono::seconds LateClocks(std::chrono::seconds lifetime) {
  return std::min<std::chrono::seconds>(std::chrono::minutes(5), lifetime / 10);
}

/// Random, as serial numbers have to differ within an authority.
void SetSerial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  Require(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "make a serial number");
  bytes[0] = (bytes[0] & 0x3F) | 0x40;
  const std::unique_ptr<BIGNUM, Freer<&BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  Require(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr,
          "write a serial number");
}

void AddExtension(X509* certificate, X509* issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freer<&X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value));
  Require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1,
          "add an extension to a certificate");
}

/// Version 3, without extensions and signature.
X509Certificate Begin(EVP_PKEY* key, const std::string& name, std::chrono::seconds lifetime) {
  constexpr int kVersion3 = 2;
  X509Certificate certificate(X509_new());
  const std::time_t now = std::time(nullptr);
  const auto set = [now](ASN1_TIME* time, std::chrono::seconds from_now) {
    return ASN1_TIME_adj(time, now, 0, from_now.count()) != nullptr;
  };
  Require(X509_set_version(certificate.get(), kVersion3) == 1 &&
              X509_set_pubkey(certificate.get(), key) == 1 &&
              set(X509_getm_notBefore(certificate.get()), -LateClocks(lifetime)) &&
              set(X509_getm_notAfter(certificate.get()), lifetime),
          "fill a certificate");
  SetSerial(certificate.get());
  SetCommonName(X509_get_subject_name(certificate.get()), name);
  return certificate;
}

std::string End(X509* certificate, X509* issuer, EVP_PKEY* key) {
  Require(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
              X509_sign(certificate, key, EVP_sha256()) > 0,
          "sign a certificate");
  const Bio bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(bio.get(), certificate) == 1, "write a certificate");
  return TextOf(bio.get());
}

std::string SignKey(const Identity& authority, EVP_PKEY* key, const std::string& name,
                    std::chrono::seconds lifetime) {
  const X509Certificate issuer = ParseCertificate(authority.certificate);
  const X509Certificate certificate = Begin(key, name, lifetime);
  const auto add = [&](int id, const char* value) {
    AddExtension(certificate.get(), issuer.get(), id, value);
  };
  add(NID_basic_constraints, "critical,CA:FALSE");
  add(NID_key_usage, "critical,digitalSignature");
  add(NID_ext_key_usage, "serverAuth,clientAuth");
  add(NID_subject_key_identifier, "hash");
  add(NID_authority_key_identifier, "keyid:always");
  return End(certificate.get(), issuer.get(), ParseKey(authority.key).get());
}

}  // namespace

Identity MakeAuthority(const std::string& name, std::chrono::seconds lifetime) {
  const Key key = NewKey();
  const X509Certificate certificate = Begin(key.get(), name, lifetime);
  const auto add = [&](int id, const char* value) {
    AddExtension(certificate.get(), certificate.get(), id, value);
  };
  add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add(NID_key_usage, "critical,keyCertSign");
  add(NID_subject_key_identifier, "hash");
  return {.key = ToPem(key.get()),
          .certificate = End(certificate.get(), certificate.get(), key.get())};
}

Identity Issue(const Identity& authority, const std::string& name, std::chrono::seconds lifetime) {
  const Key key = NewKey();
  return {.key = ToPem(key.get()), .certificate = SignKey(authority, key.get(), name, lifetime)};
}

std::string Sign(const Identity& authority, const std::string& request,
                 std::chrono::seconds lifetime) {
  const std::string name = NameIn(request);
  const X509Request parsed = ParseRequest(request);
  return SignKey(authority, X509_REQ_get0_pubkey(parsed.get()), name, lifetime);
}

}  // namespace kuryr::certificates
