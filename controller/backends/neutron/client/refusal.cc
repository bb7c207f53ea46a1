#include "controller/backends/neutron/client/refusal.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace kuryr::controller::neutron {
namespace {

using Kind = NeutronError::Kind;
using std::chrono::seconds;

/// A longer Retry-After counts as this one.
constexpr seconds kLongestRetryAfter{300};

/// Type and message, as far as the answer has them.
struct Said {
  std::string type;
  std::string message;
};

Said SaidBy(const std::string& body) {
  nlohmann::json answer;
  try {
    answer = ParseJson(body);
  } catch (const ParseError&) {
    return {};
  }
  if (!answer.is_object()) return {};
  const auto neutron = answer.find("NeutronError");
  if (neutron == answer.end()) {
    // keystonemiddleware's 401 and 503.
    const auto error = answer.find("error");
    return {"", StringAt(error == answer.end() ? answer : *error, "message")};
  }
  if (neutron->is_string()) return {"", neutron->get<std::string>()};
  return {StringAt(*neutron, "type"), StringAt(*neutron, "message")};
}

/// RFC 9110, 10.2.3, in seconds; a date is passed over.
std::optional<seconds> RetryAfter(const std::string& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::min(seconds(number), kLongestRetryAfter);
}

Kind KindOfConflict(const std::string& type) {
  if (type == "OverQuota") return Kind::kQuota;
  if (type == "IpAddressGenerationFailure") return Kind::kExhausted;
  return Kind::kConflict;
}

Kind KindOf(int status, const std::string& type) {
  switch (status) {
    case 401:
      return Kind::kUnauthorized;
    case 403:
      return Kind::kForbidden;
    case 404:
      // A URL that is not Neutron's has a 404 of another type, or none: nothing is gone then.
      return type.find("NotFound") != std::string::npos && type != "HTTPNotFound"
                 ? Kind::kNotFound
                 : Kind::kUnavailable;
    case 409:
      return KindOfConflict(type);
    case 408:
      return Kind::kUnavailable;
    case 412:
      return Kind::kPrecondition;
    case 414:
      return Kind::kTooLong;
    case 429:
      return Kind::kThrottled;
    default:
      return status / 100 == 4 || status / 100 == 3 ? Kind::kBadRequest : Kind::kUnavailable;
  }
}

/// 503 is said by whoever did not begin.
bool IsUncertain(const HttpRequest& request, int status) {
  const bool undecided = (status / 100 == 5 && status != 503) || status == 408;
  return undecided && std::string_view(request.method) != "GET";
}

std::string Without(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (size_t at = 0; (at = text.find(secret, at)) != std::string::npos;)
    text.replace(at, secret.size(), "***");
  return text;
}

/// Tells the operator what to do, where the answer itself does not.
std::string AdviceFor(const HttpAnswer& answer, const std::string& type) {
  switch (KindOf(answer.status, type)) {
    case Kind::kUnauthorized:
      return "; it does not take our token, or wants one: see [neutron] auth_type";
    case Kind::kForbidden:
      return "; the user of [neutron] lacks a right: ports of a host (binding:host_id) need the "
             "role admin, or a policy that names its role";
    case Kind::kQuota:
      return "; openstack quota set raises it";
    case Kind::kUnavailable:
      return answer.status == 404 ? "; is that Neutron? See [neutron] endpoint_override" : "";
    case Kind::kBadRequest:
      return answer.status / 100 == 3
                 ? ", a redirect to " + Printable(answer.location, 200) +
                       "; name Neutron itself in [neutron] endpoint_override, or in the catalog"
                 : "";
    default:
      return "";
  }
}

NeutronError::Answer AnswerOf(const HttpRequest& request, const HttpAnswer& answer,
                              std::string type) {
  return {.status = answer.status,
          .type = std::move(type),
          .retry_after = RetryAfter(answer.retry_after),
          .uncertain = IsUncertain(request, answer.status)};
}

}  // namespace

NeutronError RefusalOf(const HttpRequest& request, const HttpAnswer& answer) {
  Said said = SaidBy(answer.body);
  const std::string type = Printable(Without(std::move(said.type), request.token));
  const std::string message = Without(std::move(said.message), request.token);
  std::string text = request.what + ": Neutron answered " + std::to_string(answer.status);
  if (!type.empty()) text += " " + type;
  if (!message.empty()) text += ": " + Printable(message, 300);
  text += AdviceFor(answer, type);
  return {KindOf(answer.status, type), text, AnswerOf(request, answer, type)};
}

NeutronError KeystoneRefusalOf(const HttpRequest& request, const HttpAnswer& answer) {
  const int status = answer.status;
  Kind kind = KindOf(status, "");
  std::string advice;
  if (status == 401 || status == 403) {
    kind = Kind::kUnauthorized;
    advice = "; check user, password or application credential, and project of [neutron]";
  } else if (status == 404 || status / 100 == 3) {
    advice = "; is that Keystone v3? See [neutron] auth_url";
  } else if (status / 100 == 4 && kind == Kind::kBadRequest) {
    advice = "; check the options of [neutron] that name user and project";
  }
  return {kind, request.what + ": Keystone answered " + std::to_string(status) + advice,
          AnswerOf(request, answer, "")};
}

NeutronError NoAnswerOf(const HttpRequest& request, const HttpAnswer& answer,
                        const std::string& reason) {
  return {Kind::kUnavailable,
          request.what + ": the answer is not understood: " + reason,
          {.status = answer.status, .uncertain = std::string_view(request.method) != "GET"}};
}

}  // namespace kuryr::controller::neutron
