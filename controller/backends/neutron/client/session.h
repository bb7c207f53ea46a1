#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_error.h"
#include "controller/backends/neutron/client/endpoint.h"
#include "controller/backends/neutron/client/neutron_config.h"
#include "controller/backends/neutron/client/request_observer.h"

namespace kuryr::controller::neutron {

/// The endpoint and the token of a request to Neutron.
struct Access {
  std::string url;         ///< with /v2.0 at its end
  std::string token;       ///< empty where Neutron takes every request
  std::string project_id;  ///< the token's; empty where nobody says
};

/// Our standing with Keystone: one token, made at the first need and again before it expires. While
/// Keystone is away, the token we have is kept. Thread-safe: of several threads one asks, and all
/// get what came of it.
class Session {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// `observer`, which may be null, outlives it.
  Session(const NeutronConfig& config, RequestObserver* observer, Now now = Clock::now);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Throws NeutronError.
  [[nodiscard]] Access Get() EXCLUDES(mutex_);
  /// Neutron refused this token: the next Get makes another, unless one was made meanwhile.
  void Refuse(const std::string& token) EXCLUDES(mutex_);
  /// As Endpoint::Stop.
  void Stop() noexcept { keystone_.Stop(); }

 private:
  struct Held {
    Access access;
    Clock::time_point renew_at;
    Clock::time_point expires_at;
  };

  [[nodiscard]] Held Authenticate();
  void Renew() REQUIRES(mutex_);

  const NeutronConfig config_;
  RequestObserver* const observer_;
  const Now now_;
  Endpoint keystone_;
  Mutex mutex_;
  Held held_ GUARDED_BY(mutex_);
  std::optional<NeutronError> failure_ GUARDED_BY(mutex_);  ///< of the newest try
  Clock::time_point tried_at_ GUARDED_BY(mutex_);           ///< when that try began
};

}  // namespace kuryr::controller::neutron
