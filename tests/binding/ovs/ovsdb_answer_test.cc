// A database that answers with something else than was asked: each request ends with an error.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/event_fd.h"
#include "base/unique_fd.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/port_wiring.h"
#include "tests/binding/ovs/code_of.h"
#include "tests/binding/ovs/honest_results.h"
#include "tests/binding/pod_attachment.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

/// Answers `honest` transactions as it should, and all after them with `result`.
class LyingServer {
 public:
  LyingServer(size_t honest, json result) : honest_(honest), result_(std::move(result)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/run/lying.sock"};
    ::unlink(address.sun_path);
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 8) != 0) {
      ThrowErrno("listen");
    }
    thread_ = std::jthread([this] {
      while (WaitFor(listener_.get())) {
        const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
        while (WaitFor(client.get()) && AnswerOne(client.get())) {
        }
      }
    });
  }
  ~LyingServer() { stop_.Set(); }
  LyingServer(const LyingServer&) = delete;
  LyingServer& operator=(const LyingServer&) = delete;

  static constexpr const char* kRemote = "unix:/run/lying.sock";

 private:
  [[nodiscard]] bool WaitFor(int fd) const {
    std::array<pollfd, 2> fds = {{{.fd = fd, .events = POLLIN, .revents = 0},
                                  {.fd = stop_.fd(), .events = POLLIN, .revents = 0}}};
    return ::poll(fds.data(), fds.size(), -1) > 0 && fds[1].revents == 0;
  }

  bool AnswerOne(int client) {
    std::string text;
    while (!json::accept(text)) {
      std::array<char, 4096> bytes{};
      const ssize_t size = ::recv(client, bytes.data(), bytes.size(), 0);
      if (size <= 0) return false;
      text.append(bytes.data(), static_cast<size_t>(size));
    }
    const json request = json::parse(text);
    const bool is_honest = answered_++ < honest_;
    const std::string answer = json{
        {"id", request.at("id")},
        {"result", is_honest ? HonestResults(request.at("params")) : result_},
        {"error", nullptr}}.dump();
    return ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }

  const size_t honest_;
  const json result_;
  size_t answered_ = 0;
  const EventFd stop_;
  UniqueFd listener_;
  std::jthread thread_;
};

const OvsPort kSomePort = {.name = "tap1",
                           .bridge = "br-int",
                           .external_ids = {{OpenVSwitch::kContainerId, "c1"}},
                           .qos_type = "linux-noop"};

const std::map<std::string, std::function<void(OpenVSwitch&)>> kRequests = {
    {"AddPort", [](OpenVSwitch& ovs) { (void)ovs.AddPort(kSomePort, Soon()); }},
    {"DeletePort", [](OpenVSwitch& ovs) { ovs.DeletePort("tap1", {}, Soon()); }},
    {"DeleteEmptyBridge",
     [](OpenVSwitch& ovs) { ovs.DeleteEmptyBridge({.name = "br-int", .uuid = "u"}, Soon()); }},
    {"WaitUntilApplied", [](OpenVSwitch& ovs) { ovs.WaitUntilApplied(Soon()); }},
    {"IsServed", [](OpenVSwitch& ovs) { (void)ovs.IsServed(Soon()); }},
    {"HasBridge", [](OpenVSwitch& ovs) { (void)ovs.HasBridge("br-int", Soon()); }},
    {"FindPorts", [](OpenVSwitch& ovs) { (void)ovs.FindPorts({}, Soon()); }},
    {"FindPortState", [](OpenVSwitch& ovs) { (void)ovs.FindPortState("tap1", Soon()); }},
    {"DescribeWiring",
     [](OpenVSwitch&) {
       (void)PortWiring(LyingServer::kRemote, nullptr, WaitForWiring::kAuto)
           .Describe({{.owner = {}, .bridge = "br-int"}}, Soon());
     }},
};

class OvsdbAnswerTest : public test::NetnsTest,
                        public ::testing::WithParamInterface<const char*> {};

TEST_P(OvsdbAnswerTest, AnswerOfAnotherFormIsAnErrorWhereverItComes) {
  for (const auto& [name, request] : kRequests) {
    const auto end_after = [&, &act = request](size_t honest) {
      const LyingServer server(honest, json::parse(GetParam()));
      OpenVSwitch ovs(LyingServer::kRemote);
      return CodeOf([&] { act(ovs); });
    };
    size_t honest = 0;
    std::error_code code = end_after(honest);
    EXPECT_EQ(code, std::errc::io_error) << name;
    while (code && ++honest < 10) {
      code = end_after(honest);
      EXPECT_TRUE(!code || code == std::errc::io_error) << name << ", answer " << honest;
    }
    EXPECT_LT(honest, 10U) << name << " never ends";
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, OvsdbAnswerTest,
                         ::testing::Values("[]", "5", R"("x")", "{}", "[null]", "[5]", "[{}]",
                                           R"([{"rows": null}])", R"([{"rows": [5]}])",
                                           R"([{"rows": [{}]}])", R"([{"count": "1"}])",
                                           R"([{"uuid": []}, {"uuid": []}])"));

/// Sends `text` again and again to its first client, until that goes, or `times` times.
class FloodingServer {
 public:
  FloodingServer(const std::string& begin, const std::string& text, int times) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/run/flooding.sock"};
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 1) != 0) {
      ThrowErrno("listen");
    }
    thread_ = std::jthread([this, begin, text, times] {
      const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
      Send(client.get(), begin);
      for (int i = 0; i < times && Send(client.get(), text); ++i) {
      }
    });
  }

  static constexpr const char* kRemote = "unix:/run/flooding.sock";

 private:
  static bool Send(int client, const std::string& text) {
    return ::send(client, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  UniqueFd listener_;
  std::jthread thread_;
};

class OvsdbFloodTest : public test::NetnsTest {
 protected:
  static constexpr size_t kHalfMiB = size_t{1} << 19;
  static constexpr int kTimes = 64;  // 32 MiB

  static std::error_code CodeOfRequest() {
    return CodeOf([] { (void)OpenVSwitch(FloodingServer::kRemote).HasBridge("br-int", Soon()); });
  }
};

TEST_F(OvsdbFloodTest, MessageWithoutAnEndIsNotReadFurther) {
  const FloodingServer server(R"({"id":0,"error":null,"result":[")", std::string(kHalfMiB, 'x'),
                              kTimes);

  EXPECT_EQ(CodeOfRequest(), std::errc::message_size);
}

TEST_F(OvsdbFloodTest, NotificationsThatNobodyAskedForAreNotKept) {
  const FloodingServer server(
      "",
      R"({"id":null,"method":"update2","params":["x",")" + std::string(kHalfMiB, 'x') + R"("]})",
      kTimes);

  EXPECT_EQ(CodeOfRequest(), std::errc::message_size);
}

TEST_F(OvsdbFloodTest, EchoesThatTheServerDoesNotReadAreNotKept) {
  const FloodingServer server(
      "", R"({"id":"echo","method":"echo","params":[")" + std::string(kHalfMiB, 'x') + R"("]})",
      kTimes);

  EXPECT_EQ(CodeOfRequest(), std::errc::message_size);
}

}  // namespace
}  // namespace kuryr::binding
