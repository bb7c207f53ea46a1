#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/thread_annotations.h"
#include "controller/backends/neutron/client/endpoint.h"
#include "controller/backends/neutron/client/http_connection.h"
#include "controller/backends/neutron/client/neutron_config.h"
#include "controller/backends/neutron/client/refusal.h"
#include "controller/backends/neutron/client/request_gate.h"
#include "controller/backends/neutron/client/request_observer.h"
#include "controller/backends/neutron/client/session.h"

namespace kuryr::controller::neutron {

/// One request to Neutron.
struct Call {
  RequestKind kind;
  std::string what;  ///< HttpRequest::what
  const char* method = "GET";
  std::string target;  ///< below /v2.0
  std::string body;
  std::string if_match;
  RequestGate::Rank rank = RequestGate::Rank::kUsual;
};

/// Makes requests to Neutron: each waits for its turn, shows a token, and is made once more with a
/// new one after a 401. All throw NeutronError. Thread-safe.
class Caller {
 public:
  /// `observer`, which may be null, outlives it.
  Caller(const NeutronConfig& config, RequestObserver* observer);

  /// An answer of a 2xx.
  [[nodiscard]] HttpAnswer Answer(const Call& call);
  /// Decodes the answer's body; a ParseError of `decode` becomes a NeutronError.
  template <typename Decode>
  [[nodiscard]] auto Decoded(const Call& call, Decode decode) {
    const HttpAnswer answer = Answer(call);
    try {
      return decode(answer.body);
    } catch (const ParseError& e) {
      throw NoAnswerOf({.what = call.what, .method = call.method}, answer,
                       std::string(e.what()) + " (" + Printable(answer.content_type) + ")");
    }
  }

  /// The project of the token; empty where Keystone names none.
  [[nodiscard]] std::string project_id() { return session_.Get().project_id; }

  /// For good: calls under way end at once with kUnavailable, as does every later one.
  void Stop() noexcept EXCLUDES(mutex_);

 private:
  class Turn;

  [[nodiscard]] HttpAnswer Exchange(const Call& call, const Access& access, HttpRequest& request);
  [[nodiscard]] std::shared_ptr<Endpoint> EndpointAt(const std::string& url) EXCLUDES(mutex_);

  const NeutronConfig config_;
  RequestObserver* const observer_;
  Session session_;
  RequestGate gate_;
  Mutex mutex_;
  std::shared_ptr<Endpoint> neutron_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::controller::neutron
