#include "tests/fake_apiserver/tls.h"

#include <openssl/err.h>

#include <array>
#include <stdexcept>

namespace kuryr::fake {
namespace {

[[noreturn]] void ThrowSsl(const std::string& what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw std::runtime_error(what + ": " + text.data());
}

}  // namespace

SslContextPtr MakeServerContext(const TlsFiles& files) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) ThrowSsl("SSL_CTX_new");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    ThrowSsl("certificate " + files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    ThrowSsl("key " + files.key);
  }
  if (files.client_ca.empty()) return context;

  if (SSL_CTX_load_verify_file(context.get(), files.client_ca.c_str()) != 1) {
    ThrowSsl("client CA " + files.client_ca);
  }
  SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(files.client_ca.c_str()));
  SSL_CTX_set_verify(
      context.get(),
      SSL_VERIFY_PEER | (files.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  return context;
}

std::string CommonName(X509* certificate) {
  std::array<char, 256> name{};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                               name.data(), static_cast<int>(name.size()));
  return length > 0 ? std::string(name.data(), static_cast<size_t>(length)) : std::string();
}

}  // namespace kuryr::fake
