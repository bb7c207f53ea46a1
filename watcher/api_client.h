#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "watcher/api_config.h"
#include "watcher/api_root.h"
#include "watcher/connection_guard.h"
#include "watcher/credentials.h"

namespace httplib {
class ClientImpl;
}  // namespace httplib

namespace kuryr::watcher {

enum class PatchType { kMerge, kJson };  ///< RFC 7386, RFC 6902

/// A Kubernetes API client over HTTP/1.1, with or without TLS. Every method throws ApiError,
/// ApiUnavailable or ApiUntrusted; after Stop() they throw ApiUnavailable at once. No server makes
/// one take longer than the timeouts of its ApiConfig, or keep more than an answer of 64 MiB, or
/// 8 MiB of one that it parses. Not thread-safe, except for Stop() and Interrupt(). Programs that
/// use it ignore SIGPIPE.
class ApiClient {
 public:
  explicit ApiClient(const ApiConfig& config);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  /// `path` begins with "/" and may carry a query: "/api/v1/pods?limit=500".
  [[nodiscard]] nlohmann::json Get(const std::string& path);
  /// The same, not parsed: of lists, too.
  [[nodiscard]] std::string GetText(const std::string& path);
  nlohmann::json Post(const std::string& path, const nlohmann::json& object);
  nlohmann::json Patch(const std::string& path, PatchType type, const nlohmann::json& patch);
  /// The same, not parsed.
  std::string PatchText(const std::string& path, PatchType type, const nlohmann::json& patch);
  nlohmann::json Delete(const std::string& path);
  /// With DeleteOptions (meta/v1).
  nlohmann::json Delete(const std::string& path, const nlohmann::json& options);

  /// How long an answer may take from its beginning, and how long nothing of it may come.
  struct Limits {
    std::chrono::seconds lifetime;
    std::chrono::seconds silence;
  };
  /// Bytes of a 200 answer as they come, on a connection of its own; none in the first call, when
  /// the answer begins. Returns when the server ends the answer, the sink returns false, or nothing
  /// has come for limits.silence. What the sink throws leaves here. The answer has to begin within
  /// the timeouts of every request, and to end within limits.lifetime from there.
  using Sink = std::function<bool(std::string_view bytes)>;
  void Stream(const std::string& path, Limits limits, const Sink& sink);

  /// Thread-safe, for good. A request under way ends at once, whether it is connecting, shaking
  /// hands or reading; only the resolver of names cannot be interrupted.
  void Stop() noexcept { guard_.Stop(); }
  [[nodiscard]] bool stopped() const { return guard_.stopped(); }
  /// Thread-safe. As Stop, and not for good: until Resume() every request fails at once.
  void Interrupt() noexcept { guard_.Interrupt(); }
  void Resume() noexcept { guard_.Resume(); }
  [[nodiscard]] bool interrupted() const { return guard_.interrupted(); }

 private:
  struct Call;  ///< one request

  /// The server, who it is and who we are, as one ApiConfig says.
  struct Peer {
    explicit Peer(std::shared_ptr<const ApiConfig> said);

    std::shared_ptr<const ApiConfig> config;
    ApiRoot root;
    Credentials credentials;
  };

  /// Once for each request.
  void FindPeer();
  [[nodiscard]] std::unique_ptr<httplib::ClientImpl> Connect();
  std::string Receive(const Call& call, size_t most);
  nlohmann::json Answer(const Call& call);
  void Exchange(httplib::ClientImpl& client, const Call& call, Limits limits, const Sink& sink);
  [[noreturn]] void ThrowFailure(int error, bool answered);

  const ApiConfig config_;
  std::unique_ptr<const Peer> peer_;
  ConnectionGuard guard_;
  int verify_error_ = 0;  ///< OpenSSL's, of the newest connection
  std::unique_ptr<httplib::ClientImpl> unary_;
  std::string unary_version_;  ///< Credentials::Version() that it was made with
};

}  // namespace kuryr::watcher
