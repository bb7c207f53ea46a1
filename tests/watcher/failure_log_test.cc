#include "watcher/failure_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using ::testing::HasSubstr;

class FailureLogTest : public ::testing::Test {
 protected:
  /// The lines of the log after these failures.
  std::vector<std::string> LinesOf(const std::vector<std::exception_ptr>& failures) {
    ::testing::internal::CaptureStderr();
    for (const std::exception_ptr& failure : failures) log_(failure);
    std::istringstream text(::testing::internal::GetCapturedStderr());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  static std::exception_ptr Unavailable(const std::string& cause, const std::string& request) {
    return std::make_exception_ptr(ApiUnavailable(cause, request));
  }

  const FailureHandler log_ =
      LogFailures("watch failed", [](const std::exception& e) { return e.what(); });
};

TEST_F(FailureLogTest, WatchesThatFailForOneCauseAreOneLine) {
  std::vector<std::exception_ptr> failures;
  for (const char* path : {"/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces", "/api/v1/pods"})
    failures.push_back(
        Unavailable("cannot connect: Connection refused", std::string("GET ") + path));

  EXPECT_THAT(LinesOf(failures),
              ::testing::ElementsAre(
                  HasSubstr("error=\"cannot connect: Connection refused (GET /api/v1/pods)\"")));
  EXPECT_THAT(LinesOf(failures), ::testing::IsEmpty());
}

TEST_F(FailureLogTest, EachOtherCauseIsALine) {
  const auto refused = std::make_exception_ptr(ApiError(403, "Forbidden", "may not (GET /a)"));
  const auto other = std::make_exception_ptr(ApiError(403, "Forbidden", "may not (GET /b)"));

  EXPECT_THAT(LinesOf({Unavailable("refused", "GET /a"), Unavailable("timed out", "GET /a"),
                       refused, other, refused}),
              ::testing::ElementsAre(HasSubstr("refused"), HasSubstr("timed out"),
                                     HasSubstr("GET /a"), HasSubstr("GET /b")));
}

}  // namespace
}  // namespace kuryr::watcher
