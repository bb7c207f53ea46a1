#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace kuryr::watcher {

class ApiSource;

/// One PEM or token, by file or by value; the value wins. A PEM's file is read again for every
/// connection, a token's file for every request, so rotation needs no restart.
struct Secret {
  std::string file;
  std::string value;  ///< never printed

  [[nodiscard]] bool empty() const noexcept { return file.empty() && value.empty(); }
};

/// The address of the API server and the client's identity: kuryr.conf section [kubernetes], or a
/// kubeconfig.
struct ApiConfig {
  std::string api_root =
      "https://localhost:6443";  ///< http(s)://HOST[:PORT][/PREFIX], IPv6 hosts in brackets
  std::string tls_server_name;   ///< the name its certificate bears; api_root's host when empty
  Secret ca;                     ///< the system's store when empty
  Secret client_cert;            ///< PEM chain; also sent beside a token
  Secret client_key;
  Secret token;  ///< bearer token
  bool verify_server = true;
  std::chrono::seconds connect_timeout{30};  ///< of the TCP connection, and of the TLS handshake
  /// The longest time of an answer, and the timeoutSeconds of one object's watch. A set's watch
  /// asks for 5 to 10 times as much. A watch is opened again after a silence of twice this time and
  /// 10 s.
  std::chrono::seconds read_timeout{60};
  /// The time after which a failing watch counts as lost (Watcher::IsAlive); it continues trying.
  std::chrono::seconds retry_timeout{60};
  /// ReconnectDelay's `spread`, before a list that costs the server a read of all objects.
  std::chrono::seconds fallback_spread{30};
  /// The time for which refusals (401, 403, untrusted) of a watch are not yet reported as refusals.
  std::chrono::seconds refusal_grace{10};
  /// Reads the kubeconfigs again when they change; null without kubeconfigs.
  std::shared_ptr<ApiSource> source;
};

}  // namespace kuryr::watcher
