#include "controller/backends/neutron/client/session.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "controller/backends/neutron/client/refusal.h"
#include "controller/backends/neutron/client/token.h"
#include "controller/backends/neutron/client/url.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using std::chrono::seconds;

/// How long before its end a token is replaced: no request under way should outlive it.
constexpr seconds kMargin{120};
/// Between tries to replace a token that is still good.
constexpr seconds kPatience{10};

EndpointChoice ChoiceOf(const NeutronConfig& config) {
  if (!config.endpoint_override.empty()) return {};
  return {.region = config.region_name, .interfaces = config.interfaces};
}

/// Headers take no others; the rest of a header's line is httplib's care.
bool IsToken(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

Session::Session(const NeutronConfig& config, RequestObserver* observer, Now now)
    : config_(config),
      observer_(observer),
      now_(std::move(now)),
      keystone_({.name = "Keystone", .url = config.identity.auth_url, .access = config.access}) {}

Session::Held Session::Authenticate() {
  const HttpRequest request{.what = "ask Keystone for a token",
                            .method = "POST",
                            .target = "/auth/tokens",
                            .body = TokenRequestOf(config_.identity).dump()};
  const Clock::time_point begin = now_();
  const HttpAnswer answer = keystone_.Send(request);
  if (answer.status / 100 != 2) throw KeystoneRefusalOf(request, answer);
  if (!IsToken(answer.subject_token))
    throw NoAnswerOf(request, answer, "it has no header X-Subject-Token; see [neutron] auth_url");
  try {
    const TokenAnswer token = DecodeTokenAnswer(answer.body, ChoiceOf(config_));
    const std::string url =
        config_.endpoint_override.empty() ? token.neutron_url : config_.endpoint_override;
    (void)ParseUrl(url);
    const seconds margin = std::min(kMargin, token.lifetime / 4);
    return {.access = {.url = WithVersion(url, "v2.0"),
                       .token = answer.subject_token,
                       .project_id = token.project_id},
            .renew_at = begin + token.lifetime - margin,
            .expires_at = begin + token.lifetime};
  } catch (const ParseError& e) {
    throw NoAnswerOf(request, answer, e.what());
  }
}

void Session::Renew() {
  tried_at_ = now_();
  failure_.reset();
  try {
    held_ = Authenticate();
  } catch (const NeutronError& e) {
    failure_ = e;
  }
  if (observer_ == nullptr) return;
  const auto kind = failure_ ? std::optional(failure_->kind()) : std::nullopt;
  observer_->OnRequest(RequestKind::kToken, kind, now_() - tried_at_);
}

Access Session::Get() {
  if (config_.identity.method == Identity::Method::kNone)
    return {.url = WithVersion(config_.endpoint_override, "v2.0"), .token = ""};
  const Clock::time_point asked = now_();
  const MutexLock lock(mutex_);
  if (now_() < held_.renew_at) return held_.access;
  // A failure of a try that began after the question is new enough.
  if (!failure_ || tried_at_ < asked) Renew();
  if (!failure_) return held_.access;
  if (now_() >= held_.expires_at) throw NeutronError(*failure_);
  held_.renew_at = std::min(now_() + kPatience, held_.expires_at);
  Log(LogLevel::kWarning, "no new token of Keystone; the old one is still good",
      {{"reason", failure_->what()},
       {"seconds", std::chrono::duration_cast<seconds>(held_.expires_at - now_()).count()}});
  return held_.access;
}

void Session::Refuse(const std::string& token) {
  const MutexLock lock(mutex_);
  if (held_.access.token == token) held_ = {};
}

}  // namespace kuryr::controller::neutron
