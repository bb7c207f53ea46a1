#pragma once

#include <chrono>
#include <string>

namespace kuryr::watcher {

/// How to reach the API server and as whom: kuryr.conf section [kubernetes].
struct ApiConfig {
  std::string api_root =
      "https://localhost:6443";  ///< http(s)://HOST[:PORT][/PREFIX], IPv6 hosts in brackets
  std::string ca_file;           ///< PEM; the system's store when empty
  std::string client_cert_file;  ///< PEM chain; used when there is no token_file
  std::string client_key_file;   ///< PEM
  std::string token_file;        ///< bearer token, read anew for every request: bound tokens rotate
  bool verify_server = true;
  std::chrono::seconds connect_timeout{30};  ///< of the TCP connection, and of the TLS handshake
  std::chrono::seconds read_timeout{60};     ///< silence after which a connection counts as dead
};

}  // namespace kuryr::watcher
