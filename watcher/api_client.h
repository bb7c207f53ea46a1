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
/// ApiUnavailable or ApiUntrusted; after Stop() they throw ApiUnavailable at once. A method takes
/// no longer than the timeouts of its ApiConfig. It keeps at most 64 MiB of an answer, or 8 MiB of
/// an answer that it parses. Not thread-safe, except for Stop() and Interrupt(). Programs that use
/// it ignore SIGPIPE.
class ApiClient {
 public:
  explicit ApiClient(const ApiConfig& config);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  /// `path` begins with "/" and may carry a query: "/api/v1/pods?limit=500".
  [[nodiscard]] nlohmann::json Get(const std::string& path);
  /// GETs an object or a list as text, not parsed.
  [[nodiscard]] std::string GetText(const std::string& path);
  nlohmann::json Post(const std::string& path, const nlohmann::json& object);
  nlohmann::json Patch(const std::string& path, PatchType type, const nlohmann::json& patch);
  /// Patches, and returns the answer as text, not parsed.
  std::string PatchText(const std::string& path, PatchType type, const nlohmann::json& patch);
  nlohmann::json Delete(const std::string& path);
  /// Deletes with DeleteOptions (meta/v1).
  nlohmann::json Delete(const std::string& path, const nlohmann::json& options);

  /// The longest time of an answer from its beginning, and the longest silence in it.
  struct Limits {
    std::chrono::seconds lifetime;
    std::chrono::seconds silence;
  };
  /// Passes the bytes of a 200 answer to the sink as they come, on a separate connection. The first
  /// call has no bytes and means that the answer begins. Returns when the server ends the answer,
  /// when the sink returns false, or after limits.silence without bytes. Passes on the sink's
  /// exceptions. The answer must begin within the timeouts of every request, and ends after
  /// limits.lifetime at the latest.
  using Sink = std::function<bool(std::string_view bytes)>;
  void Stream(const std::string& path, Limits limits, const Sink& sink);

  /// Ends all requests for good. A running request ends at once, also while it connects, shakes
  /// hands or reads; only name resolution cannot be interrupted. Thread-safe.
  void Stop() noexcept { guard_.Stop(); }
  [[nodiscard]] bool stopped() const { return guard_.stopped(); }
  /// As Stop, but only until Resume(). Thread-safe.
  void Interrupt() noexcept { guard_.Interrupt(); }
  void Resume() noexcept { guard_.Resume(); }
  [[nodiscard]] bool interrupted() const { return guard_.interrupted(); }

 private:
  struct Call;  ///< one request

  /// The server and both identities, as one ApiConfig says.
  struct Peer {
    explicit Peer(std::shared_ptr<const ApiConfig> said);

    std::shared_ptr<const ApiConfig> config;
    ApiRoot root;
    Credentials credentials;
  };

  /// Called once for each request.
  void FindPeer();
  [[nodiscard]] std::unique_ptr<httplib::ClientImpl> Connect();
  std::string Receive(const Call& call, size_t most);
  nlohmann::json Answer(const Call& call);
  void Exchange(httplib::ClientImpl& client, const Call& call, Limits limits, const Sink& sink);
  [[noreturn]] void ThrowFailure(const Call& call, int error, bool answered);

  const ApiConfig config_;
  std::unique_ptr<const Peer> peer_;
  ConnectionGuard guard_;
  int verify_error_ = 0;  ///< OpenSSL's, of the newest connection
  std::unique_ptr<httplib::ClientImpl> unary_;
  std::string unary_version_;  ///< Credentials::Version() that it was made with
};

}  // namespace kuryr::watcher
