#include "cni/agent/queued_writer.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"

namespace kuryr::cni {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Takes connections, and says nothing.
class SilentServer {
 public:
  SilentServer() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, size), 0);
    EXPECT_EQ(::listen(fd_.get(), 1), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(::ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& url() const { return url_; }
  /// Whose client waits for an answer from now on.
  [[nodiscard]] UniqueFd Accept() const {
    return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  const UniqueFd fd_;
  std::string url_;
};

TEST(QueuedWriterTest, AWriteThatIsDroppedIsNamedInTheLog) {
  const SilentServer server;
  watcher::ApiConfig config;
  config.api_root = server.url();
  QueuedWriter writer(config);
  const auto write = [&](size_t number) {
    writer.WriteLater(
        {.path = "/write-" + std::to_string(number), .body = nlohmann::json::object()});
  };
  write(0);
  const UniqueFd connection = server.Accept();

  ::testing::internal::CaptureStderr();
  for (size_t i = 1; i <= QueuedWriter::kMost + 1; ++i) write(i);
  const std::string log = ::testing::internal::GetCapturedStderr();

  EXPECT_THAT(log, AllOf(HasSubstr("too many wait"), HasSubstr("/write-1 ")));
  EXPECT_THAT(log, Not(HasSubstr("/write-2 ")));
}

}  // namespace
}  // namespace kuryr::cni
