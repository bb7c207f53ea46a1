#include "controller/backends/neutron/client/caller.h"

#include <chrono>
#include <optional>

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using Clock = std::chrono::steady_clock;

}  // namespace

/// One place in the gate.
class Caller::Turn {
 public:
  Turn(RequestGate& gate, const std::string& what, RequestGate::Rank rank) : gate_(gate) {
    switch (gate.Enter(rank)) {
      case RequestGate::Turn::kMine:
        return;
      case RequestGate::Turn::kTooLate:
        throw NeutronError(Kind::kUnavailable,
                           what +
                               ": too many requests to Neutron; [neutron] max_requests and "
                               "request_rate limit them",
                           {});
      case RequestGate::Turn::kStopped:
        throw NeutronError(Kind::kUnavailable, what + ": request cancelled", {});
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { gate_.Leave(); }

 private:
  RequestGate& gate_;
};

Caller::Caller(const NeutronConfig& config, RequestObserver* observer)
    : config_(config),
      observer_(observer),
      session_(config, observer),
      gate_({.at_a_time = config.max_requests,
             .a_second = config.request_rate,
             .patience = config.access.timeout}) {}

/// A new catalog may name another URL.
std::shared_ptr<Endpoint> Caller::EndpointAt(const std::string& url) {
  const MutexLock lock(mutex_);
  if (!neutron_ || neutron_->server().url != url) {
    neutron_ = std::make_shared<Endpoint>(
        HttpServer{.name = "Neutron", .url = url, .access = config_.access});
    if (stopped_) neutron_->Stop();
  }
  return neutron_;
}

HttpAnswer Caller::Exchange(const Call& call, const Access& access, HttpRequest& request) {
  request.token = access.token;
  const std::shared_ptr<Endpoint> endpoint = EndpointAt(access.url);
  const Turn turn(gate_, call.what, call.rank);
  const Clock::time_point begin = Clock::now();
  const auto tell = [&](std::optional<Kind> failure) {
    if (observer_ != nullptr) observer_->OnRequest(call.kind, failure, Clock::now() - begin);
  };
  try {
    HttpAnswer answer = endpoint->Send(request);
    const bool succeeded = answer.status / 100 == 2;
    tell(succeeded ? std::nullopt : std::optional(RefusalOf(request, answer).kind()));
    return answer;
  } catch (const NeutronError& e) {
    tell(e.kind());
    throw;
  }
}

/// An answer of a 2xx.
HttpAnswer Caller::Answer(const Call& call) {
  HttpRequest request{.what = call.what,
                      .method = call.method,
                      .target = call.target,
                      .body = call.body,
                      .if_match = call.if_match};
  const Access access = session_.Get();
  HttpAnswer answer = Exchange(call, access, request);
  if (answer.status == 401 && !access.token.empty()) {
    session_.Refuse(access.token);
    answer = Exchange(call, session_.Get(), request);
  }
  if (answer.status / 100 == 2) return answer;
  throw RefusalOf(request, answer);
}

void Caller::Stop() noexcept {
  gate_.Stop();
  session_.Stop();
  const MutexLock lock(mutex_);
  stopped_ = true;
  if (neutron_) neutron_->Stop();
}

}  // namespace kuryr::controller::neutron
