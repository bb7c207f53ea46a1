#include "certificates/key.h"

#include <openssl/err.h>

#include <array>

#include "certificates/openssl.h"

namespace kuryr::certificates {

void Require(bool done, const char* what) {
  if (done) return;
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  ERR_clear_error();
  throw CertificateError(std::string(what) + ": " + reason.data());
}

Bio Reader(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Require(bio != nullptr, "read PEM");
  return bio;
}

std::string TextOf(BIO* bio) {
  std::string text(BIO_ctrl_pending(bio), '\0');
  Require(
      BIO_read(bio, text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()),
      "write PEM");
  return text;
}

Key NewKey() {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  Require(key != nullptr, "make a key");
  return key;
}

Key ParseKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, nullptr, nullptr));
  Require(key != nullptr, "read a private key");
  return key;
}

std::string ToPem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "write a private key");
  return TextOf(bio.get());
}

X509Certificate ParseCertificate(const std::string& pem) {
  X509Certificate certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, nullptr, nullptr));
  Require(certificate != nullptr, "read a certificate");
  return certificate;
}

X509Request ParseRequest(const std::string& pem) {
  X509Request request(PEM_read_bio_X509_REQ(Reader(pem).get(), nullptr, nullptr, nullptr));
  Require(request != nullptr, "read a request for a certificate");
  return request;
}

std::string CommonNameOf(const X509_NAME* subject) {
  if (X509_NAME_entry_count(subject) != 1)
    throw CertificateError("the subject is not a common name alone");
  const X509_NAME_ENTRY* const entry = X509_NAME_get_entry(subject, 0);
  if (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry)) != NID_commonName)
    throw CertificateError("the subject is not a common name alone");
  unsigned char* text = nullptr;
  const int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
  Require(length >= 0, "read a common name");
  const std::string name(text, text + length);
  OPENSSL_free(text);
  return name;
}

void SetCommonName(X509_NAME* subject, const std::string& name) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(name.data());
  Require(X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, bytes,
                                     static_cast<int>(name.size()), -1, 0) == 1,
          "write a common name");
}

KeyRequest MakeRequest(const std::string& name) {
  const Key key = NewKey();
  const X509Request request(X509_REQ_new());
  SetCommonName(X509_REQ_get_subject_name(request.get()), name);
  Require(X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
              X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0,
          "sign a request for a certificate");
  const Bio bio(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509_REQ(bio.get(), request.get()) == 1,
          "write a request for a certificate");
  return {.key = ToPem(key.get()), .request = TextOf(bio.get())};
}

std::string NameIn(const std::string& request) {
  const X509Request parsed = ParseRequest(request);
  EVP_PKEY* const key = X509_REQ_get0_pubkey(parsed.get());
  Require(key != nullptr && X509_REQ_verify(parsed.get(), key) == 1,
          "check who has signed a request for a certificate");
  return CommonNameOf(X509_REQ_get_subject_name(parsed.get()));
}

}  // namespace kuryr::certificates
