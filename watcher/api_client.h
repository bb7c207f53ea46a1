#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/thread_annotations.h"
#include "base/unique_fd.h"
#include "watcher/api_config.h"

namespace httplib {
class ClientImpl;
}  // namespace httplib

namespace kuryr::watcher {

/// The parts of ApiConfig::api_root.
struct ApiRoot {
  bool tls = true;
  std::string host;  ///< without brackets
  int port = 443;
  std::string prefix;  ///< "" or "/PATH", no slash at its end

  /// Throws ParseError naming "[kubernetes] api_root".
  [[nodiscard]] static ApiRoot Parse(const std::string& text);
};

enum class PatchType { kMerge, kJson };  ///< RFC 7386, RFC 6902

/// A Kubernetes API client over HTTP/1.1, with or without TLS. Every method throws ApiError,
/// ApiUnavailable or ApiUntrusted; after Stop() they throw ApiUnavailable at once. Not thread-safe,
/// except for Stop(). Programs that use it ignore SIGPIPE.
class ApiClient {
 public:
  explicit ApiClient(ApiConfig config);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  /// `path` begins with "/" and may carry a query: "/api/v1/pods?limit=500".
  [[nodiscard]] nlohmann::json Get(const std::string& path);
  nlohmann::json Post(const std::string& path, const nlohmann::json& object);
  nlohmann::json Patch(const std::string& path, PatchType type, const nlohmann::json& patch);
  nlohmann::json Delete(const std::string& path);

  /// Bytes of a 200 answer as they come, on a connection of its own. Returns when the server ends
  /// the answer or the sink returns false. What the sink throws leaves here.
  using Sink = std::function<bool(std::string_view bytes)>;
  void Stream(const std::string& path, const Sink& sink);

  /// Thread-safe, for good. A request under way ends at once, whether it is connecting, shaking
  /// hands or reading; only the resolver of names cannot be interrupted.
  void Stop() noexcept EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::unique_ptr<httplib::ClientImpl> Connect();
  /// httplib's socket callback: lets Stop() reach a connection from its first moment on.
  void Adopt(int socket) EXCLUDES(mutex_);
  [[nodiscard]] bool Stopped() EXCLUDES(mutex_);
  [[noreturn]] void ThrowFailure(int error);
  template <typename Call>
  nlohmann::json Answer(const Call& call);

  const ApiConfig config_;
  const ApiRoot root_;
  int verify_error_ = 0;  ///< OpenSSL's, of the newest connection
  std::unique_ptr<httplib::ClientImpl> unary_;
  Mutex mutex_;
  UniqueFd socket_ GUARDED_BY(mutex_);  ///< duplicate of the newest connection's
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::watcher
