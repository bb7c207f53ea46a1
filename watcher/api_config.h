#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace kuryr::watcher {

class ApiSource;

/// One PEM or token, by file or by value. A PEM's file is read anew for every connection, a token's
/// for every request: what rotates on disk needs no restart. The value wins.
struct Secret {
  std::string file;
  std::string value;  ///< never printed

  [[nodiscard]] bool empty() const noexcept { return file.empty() && value.empty(); }
};

/// How to reach the API server and as whom: kuryr.conf section [kubernetes], or a kubeconfig.
struct ApiConfig {
  std::string api_root =
      "https://localhost:6443";  ///< http(s)://HOST[:PORT][/PREFIX], IPv6 hosts in brackets
  std::string tls_server_name;   ///< the name its certificate bears; api_root's host when empty
  Secret ca;                     ///< the system's store when empty
  Secret client_cert;            ///< PEM chain; shown beside the token, too
  Secret client_key;
  Secret token;  ///< bearer token
  bool verify_server = true;
  std::chrono::seconds connect_timeout{30};  ///< of the TCP connection, and of the TLS handshake
  /// How long an answer may take, and the timeoutSeconds of one object's watch. A set's watch asks
  /// 5 to 10 times as much. It is opened again after a silence of twice this and 10 s.
  std::chrono::seconds read_timeout{60};
  /// How long a watch may fail before it counts as lost (Watcher::IsAlive); it goes on trying.
  std::chrono::seconds retry_timeout{60};
  /// ReconnectDelay's `spread`, before a list that costs the server a read of all objects.
  std::chrono::seconds fallback_spread{30};
  /// How long a watch may be refused (401, 403, untrusted) before it is told as that.
  std::chrono::seconds refusal_grace{10};
  /// What says anew where the server is, who it is and who we are; null where kubeconfigs do not.
  std::shared_ptr<ApiSource> source;
};

}  // namespace kuryr::watcher
