#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/fake_apiserver/api.h"
#include "tests/fake_apiserver/auth.h"
#include "tests/fake_apiserver/faults.h"
#include "tests/fake_apiserver/object_store.h"
#include "tests/fake_apiserver/registry.h"
#include "tests/fake_apiserver/request_log.h"
#include "tests/fake_apiserver/resource.h"
#include "tests/fake_apiserver/server.h"
#include "tests/fake_apiserver/watch.h"
#include "tests/fake_apiserver/watch_hub.h"

namespace kuryr::fake {

struct Options {
  std::string address = "127.0.0.1";  // or "::1"
  uint16_t port = 0;                  // 0: a free one
  std::optional<TlsFiles> tls;        // none: http
  std::vector<User> users;            // none: everybody may do everything
  std::vector<Resource> custom_resources = {KuryrPorts()};
  uint64_t first_resource_version = 100;  // older ones count as compacted
  Pace pace;
  bool streams_lists = false;  // WatchList, as Kubernetes 1.34 and later
};

/// The certificates that the build made with make-certs: "ca.crt", "other-ca.crt", "client.key",
/// ...
[[nodiscard]] std::string CertificateFile(const std::string& name);
/// A server certificate for 127.0.0.1, ::1 and localhost, signed by ca.crt.
[[nodiscard]] TlsFiles TestTls();

/// A Kubernetes API server in memory: real HTTP or HTTPS, objects with their history, watches, and
/// faults on request. Answers as kube-apiserver 1.20.2 did in tests/data/apiserver-http.
/// Thread-safe.
///
/// The helpers below reach the objects without HTTP and may set everything, status included; they
/// throw Refusal where the API would refuse. Waits answer false at their timeout.
class FakeApiServer {
 public:
  static constexpr std::chrono::milliseconds kPatience{30'000};

  /// Serves when the constructor returns. Throws std::system_error, or std::runtime_error for TLS
  /// files.
  explicit FakeApiServer(const Options& options = {});
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  /// "http://127.0.0.1:PORT", "https://[::1]:PORT"; no slash at the end.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] uint16_t port() const noexcept { return server_.port(); }
  /// The certificate of the authority that signed TestTls().
  [[nodiscard]] static std::string ca_file() { return CertificateFile("ca.crt"); }

  // Objects. `kind` and `apiVersion` name the resource (a missing apiVersion is found by kind);
  // without metadata.namespace they go to "default". `plural` is "pods", "kuryrports", ...

  nlohmann::json Create(const nlohmann::json& object);
  /// Applies a merge patch (RFC 7386).
  nlohmann::json Patch(const std::string& plural, const std::string& ns, const std::string& name,
                       const nlohmann::json& merge_patch);
  /// Deletes an object. A pod gets MODIFIED with the deletionTimestamp, and at grace 0 also
  /// DELETED.
  void Delete(const std::string& plural, const std::string& ns, const std::string& name,
              int64_t grace_seconds = 0);
  [[nodiscard]] std::optional<nlohmann::json> Get(const std::string& plural, const std::string& ns,
                                                  const std::string& name) const;
  /// The objects of one namespace, or of all when `ns` is empty.
  [[nodiscard]] std::vector<nlohmann::json> List(const std::string& plural,
                                                 const std::string& ns = {}) const;
  [[nodiscard]] uint64_t resource_version() const { return store_.version(); }

  // Requests of clients.

  [[nodiscard]] std::vector<LoggedRequest> Requests() const { return log_.All(); }
  /// `verb`: get list watch create update patch delete, or a method; empty: any.
  [[nodiscard]] bool WaitForRequest(const std::string& verb, const std::string& path_prefix,
                                    size_t count = 1,
                                    std::chrono::milliseconds timeout = kPatience);
  /// Waits until exactly `count` watches are open and have been sent the present state.
  [[nodiscard]] bool WaitForWatches(size_t count, std::chrono::milliseconds timeout = kPatience);

  // Faults.

  void Inject(Fault fault) { faults_.Add(std::move(fault)); }
  void ClearFaults() { faults_.Clear(); }
  /// From now on only these users are known (rotated tokens, lost rights).
  void SetUsers(std::vector<User> users) { auth_.SetUsers(std::move(users)); }
  /// Connecting fails with ECONNREFUSED and every connection is dropped, until StartListening() or
  /// for `time`; the port stays the same.
  void StopListening(std::optional<std::chrono::milliseconds> time = {});
  void StartListening() { server_.StartListening(); }
  /// The next `count` connections get neither a TLS handshake nor an answer.
  void HangConnections(int count) { server_.HangConnections(count); }
  /// Every version before the present one is too old for lists and new watches.
  void Compact() { store_.Compact(); }

  // Commands to all open watches; earlier changes are sent before.

  /// Sends bytes as they are; see stream_text.
  void SendToWatches(const std::string& text);
  /// Sends a BOOKMARK at once to watches that allow it.
  void BookmarkWatches();
  /// Ends watches in order, as at their timeout.
  void EndWatches();
  /// Cuts watches off, as when the server is killed.
  void DropWatches();
  /// Sends ERROR with code 410, then ends the watches.
  void ExpireWatches();

 private:
  void Serve(Connection& connection) noexcept;
  // Each returns whether the connection can take a next request.
  [[nodiscard]] bool Respond(Connection& connection, const HttpRequest& request);
  [[nodiscard]] bool RespondToControl(Connection& connection, const HttpRequest& request);
  [[nodiscard]] bool RespondWithFault(Connection& connection, const Fault& fault, bool keep_alive);
  [[nodiscard]] bool RunWatch(Connection& connection, const WatchRequest& request, Tamper tamper,
                              bool keep_alive);
  [[nodiscard]] bool Send(Connection& connection, const Answer& answer, bool keep_alive);
  /// Throws Refusal: 401, 403.
  void Authorize(RequestInfo info, const HttpRequest& request, const Connection& connection) const;

  [[nodiscard]] const Resource& ResourceOf(const nlohmann::json& object) const;
  [[nodiscard]] const Resource& ResourceNamed(const std::string& plural) const;
  void CommandWatches(WatchCommand command);

  const Options options_;
  const std::vector<Resource> resources_;
  WatchHub hub_;
  ObjectStore store_;
  Registry registry_;
  Api api_;
  Auth auth_;
  FaultPlan faults_;
  RequestLog log_;
  Server server_;  // last: its threads use all of the above
};

}  // namespace kuryr::fake
