#include "watcher/credentials.h"

#include <httplib.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <memory>
#include <utility>

#include "base/ip.h"
#include "base/log.h"
#include "base/releaser.h"
#include "watcher/api_error.h"
#include "watcher/connection_guard.h"

namespace kuryr::watcher {
namespace {

constexpr size_t kMaxFile = size_t{4} << 20;

using Bio = std::unique_ptr<BIO, Releaser<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Releaser<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;

std::string Where(const Secret& secret) {
  return secret.value.empty() ? secret.file : "from the kubeconfig";
}

bool HasIdentity(const ApiConfig& config) {
  return !config.token.empty() || !config.client_cert.empty();
}

std::string Read(const Secret& secret, const std::string& what) {
  if (!secret.value.empty()) return secret.value;
  std::ifstream in(secret.file, std::ios::binary);
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < kMaxFile && (in.read(buffer.data(), buffer.size()) || in.gcount() > 0)) {
    text.append(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  if (text.empty()) throw ApiUntrusted(what + " " + secret.file + " is missing or empty");
  return text;
}

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Never asks the terminal for the passphrase of an encrypted key.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*rwflag*/, void* /*data*/) { return 0; }

void UseCertificate(SSL_CTX* context, const Secret& secret) {
  const std::string text = Read(secret, "client certificate");
  const Bio in = Reader(text);
  const Certificate leaf(PEM_read_bio_X509(in.get(), nullptr, NoPassphrase, nullptr));
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    throw ApiUntrusted("client certificate " + Where(secret) + " is no PEM certificate");
  }
  while (const Certificate issuer{PEM_read_bio_X509(in.get(), nullptr, NoPassphrase, nullptr)}) {
    SSL_CTX_add1_chain_cert(context, issuer.get());
  }
}

void UseKey(SSL_CTX* context, const Secret& secret) {
  const std::string text = Read(secret, "client key");
  const PrivateKey key(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, NoPassphrase, nullptr));
  if (!key) {
    throw ApiUntrusted("client key " + Where(secret) + " is no PEM key without a passphrase");
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    throw ApiUntrusted("client key " + Where(secret) + " does not belong to the certificate");
  }
}

void UseAuthorities(SSL_CTX* context, const Secret& secret) {
  if (secret.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return;
  }
  const std::string text = Read(secret, "file of certificate authorities");
  const Bio in = Reader(text);
  size_t count = 0;
  while (const Certificate authority{PEM_read_bio_X509(in.get(), nullptr, NoPassphrase, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    ++count;
  }
  if (count == 0) {
    throw ApiUntrusted("cannot read the certificate authorities in " + Where(secret));
  }
  // Trusts every certificate in the file, as Go and curl do, and not only self-signed ones.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

int KeepVerifyError(int ok, X509_STORE_CTX* store) {
  if (ok == 0) {
    const auto* connection =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    *static_cast<int*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection))) =
        X509_STORE_CTX_get_error(store);
  }
  return ok;
}

/// Replaces httplib's SNI, the host, by the name that the certificate must bear; addresses have
/// none (RFC 6066).
void SendServerName(const SSL* connection, int where, int /*result*/) {
  if (where != SSL_CB_HANDSHAKE_START) return;
  auto* own = const_cast<SSL*>(connection);  // it belongs to the caller of SSL_connect
  char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(own), 0);
  SSL_ctrl(own, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name);
}

/// Sets the name that the server's certificate must bear. A DNS name is also sent as SNI.
void NameServer(SSL_CTX* context, const std::string& name) {
  X509_VERIFY_PARAM* parameters = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const auto address = IpAddress::Parse(name);
  const int named =
      address ? X509_VERIFY_PARAM_set1_ip(parameters, address->bytes.data(), address->size())
              : X509_VERIFY_PARAM_set1_host(parameters, name.c_str(), name.size());
  if (named != 1) throw ApiUntrusted("no certificate can be verified for the name " + name);
  SSL_CTX_set_info_callback(context, SendServerName);
}

/// httplib 0.11 would verify after the handshake, and it compares IP addresses with other memory.
/// So a certificate for another address may pass, and an IPv6 host reads out of bounds.
void VerifyServer(SSL_CTX* context, int& verify_error) {
  SSL_CTX_set_app_data(context, &verify_error);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, KeepVerifyError);
}

/// The context's own name differs between httplib's releases.
template <typename Client>
SSL_CTX* ContextOf(Client& client) {
  if constexpr (requires { client.tls_context(); })
    return static_cast<SSL_CTX*>(client.tls_context());
  else
    return client.ssl_context();
}

/// Paths are encoded already.
template <typename Client>
void KeepPaths(Client& client) {
  if constexpr (requires { client.set_path_encode(false); })
    client.set_path_encode(false);
  else
    client.set_url_encode(false);
}

/// "api.example." is the same host; neither certificates nor SNI have the dot.
std::string WithoutRootDot(std::string name) {
  if (name.size() > 1 && name.ends_with('.')) name.pop_back();
  return name;
}

}  // namespace

std::string FileVersion(const std::string& file) {
  struct stat status{};
  if (file.empty() || ::stat(file.c_str(), &status) != 0) return "-";
  return std::to_string(status.st_ino) + "." + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + "." + std::to_string(status.st_size) + " ";
}

Credentials::Credentials(const ApiConfig& config, const ApiRoot& root)
    : ca_(config.ca),
      client_cert_(root.tls ? config.client_cert : Secret()),
      client_key_(root.tls ? config.client_key : Secret()),
      token_(root.tls ? config.token : Secret()),
      withheld_(!root.tls && HasIdentity(config)),
      verify_server_(config.verify_server),
      server_name_(
          WithoutRootDot(config.tls_server_name.empty() ? root.host : config.tls_server_name)) {}

std::string Credentials::Authorization() const {
  if (token_.empty()) return "";
  std::string token = Read(token_, "token file");
  token.resize(std::min(token.find('\n'), token.size()));
  while (token.ends_with('\r') || token.ends_with(' ')) token.pop_back();
  if (token.empty()) throw ApiUntrusted("token file " + Where(token_) + " has an empty first line");
  for (const char c : token) {
    if (c <= 0x20 || c == 0x7f) {
      throw ApiUntrusted("token " + Where(token_) + " holds characters that no bearer token has");
    }
  }
  return "Bearer " + token;
}

std::unique_ptr<httplib::ClientImpl> Credentials::NewClient(const ApiRoot& root,
                                                            ConnectionGuard& guard,
                                                            int& verify_error) const {
  std::unique_ptr<httplib::ClientImpl> client;
  if (root.tls) {
    auto tls = std::make_unique<httplib::SSLClient>(root.host, root.port);
    tls->enable_server_certificate_verification(false);
    Configure(ContextOf(*tls), verify_error);
    client = std::move(tls);
  } else {
    client = std::make_unique<httplib::ClientImpl>(root.host, root.port);
  }
  client->set_tcp_nodelay(true);
  KeepPaths(*client);
  client->set_socket_options([&guard](int socket) { guard.Adopt(socket); });
  return client;
}

void Credentials::Configure(ssl_ctx_st* context, int& verify_error) const {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (!client_cert_.empty()) {
    UseCertificate(context, client_cert_);
    UseKey(context, client_key_);
  }
  NameServer(context, server_name_);
  if (!verify_server_) return;
  UseAuthorities(context, ca_);
  VerifyServer(context, verify_error);
}

std::string Credentials::Version() const {
  return FileVersion(ca_.file) + FileVersion(client_cert_.file) + FileVersion(client_key_.file);
}

std::string Credentials::Identity() const {
  std::string certificate = "client certificate " + Where(client_cert_);
  if (!token_.empty())
    return "token " + Where(token_) + (client_cert_.empty() ? "" : " and " + certificate);
  if (!client_cert_.empty()) return certificate;
  return withheld_ ? "anonymous, since http has no identity sent" : "anonymous";
}

void WarnOfInsecureApi(const ApiConfig& config, const std::string& unverified_by) {
  if (!config.verify_server) {
    Log(LogLevel::kWarning, "the API server's certificate is not verified",
        {{"switched_off_by", unverified_by}});
  }
  if (!HasIdentity(config) || ApiRoot::Parse(config.api_root).tls) return;
  Log(LogLevel::kWarning,
      "the API server is sent no token and no client certificate; name it with https",
      {{"api_root", config.api_root}});
}

}  // namespace kuryr::watcher
