#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/resource.h"

namespace kuryr::fake {

/// The refusal of a request. Thrown while the request is handled, and sent as its answer.
class Refusal : public std::runtime_error {
 public:
  explicit Refusal(Answer answer) : runtime_error(answer.body), answer_(std::move(answer)) {}
  [[nodiscard]] const Answer& answer() const noexcept { return answer_; }

 private:
  Answer answer_;
};

// Status objects in the words of kube-apiserver 1.20, key for key. The ones marked * stand in the
// captures of tests/data/apiserver-http; the others follow k8s.io/apimachinery's api/errors.

[[nodiscard]] Refusal Unauthorized();                                               // * 401
[[nodiscard]] Refusal Forbidden(const std::string& user, const RequestInfo& info);  // * 403
[[nodiscard]] Refusal ForbiddenPath(const std::string& user, const std::string& verb,
                                    const std::string& path);                       // 403
[[nodiscard]] Refusal PageNotFound();                                               // * 404
[[nodiscard]] Refusal NoSuchResource();                                             // 404
[[nodiscard]] Refusal NotFound(const Resource& resource, const std::string& name);  // * 404
[[nodiscard]] Refusal MethodNotAllowed();                                           // 405
[[nodiscard]] Refusal AlreadyExists(const Resource& resource,
                                    const std::string& name);  // * 409
[[nodiscard]] Refusal Conflict(const Resource& resource, const std::string& name,
                               const std::string& why);            // * 409
[[nodiscard]] Refusal Expired(const std::string& message);         // * 410
[[nodiscard]] Refusal UnsupportedPatch(const Resource& resource);  // * 415
[[nodiscard]] Refusal PatchDoesNotApply();                         // * 422
[[nodiscard]] Refusal Invalid(const Resource& resource, const std::string& name,
                              const std::string& field, const std::string& reason,
                              const std::string& message);        // * 422
[[nodiscard]] Refusal BadRequest(const std::string& message);     // * 400
[[nodiscard]] Refusal InternalError(const std::string& message);  // * 500
[[nodiscard]] Refusal TooLargeResourceVersion(const std::string& asked,
                                              const std::string& current);  // * 504

/// The Status object inside a watch's ERROR event that says 410.
[[nodiscard]] nlohmann::ordered_json ExpiredStatus(const std::string& message);
/// The answer to a DELETE that removed the object at once.
[[nodiscard]] nlohmann::ordered_json DeletedStatus(const Resource& resource,
                                                   const std::string& name, const std::string& uid);

/// JSON the way the API server ends it: with a newline.
[[nodiscard]] Answer JsonAnswer(const nlohmann::ordered_json& body, int status = 200);
[[nodiscard]] Answer JsonAnswer(const nlohmann::json& body, int status = 200);

}  // namespace kuryr::fake
