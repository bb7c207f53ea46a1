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
#include "binding/ovs/bridge_list.h"
#include "binding/ovs/database.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/port_wiring.h"
#include "binding/ovs/tunnel.h"
#include "ovsdb/client.h"
#include "tests/binding/ovs/honest_results.h"
#include "tests/binding/pod_attachment.h"
#include "tests/ovsdb/code_of.h"
#include "tests/ovsdb/scripted_server.h"
#include "tests/support/netns_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

/// Answers each transaction with what `answer` makes of its params.
class LyingServer {
 public:
  using Answer = std::function<json(const json& params)>;

  /// `honest` transactions as it should, and all after them with `result`.
  LyingServer(size_t honest, const json& result)
      : LyingServer([honest, result](const json& params) mutable {
          return honest > 0 && honest-- > 0 ? HonestResults(params) : result;
        }) {}
  explicit LyingServer(Answer answer) : answer_(std::move(answer)) {
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
    const std::string answer = json{
        {"id", request.at("id")},
        {"result", answer_(request.at("params"))},
        {"error", nullptr}}.dump();
    return ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }

  const Answer answer_;
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
    {"WaitUntilLetGo", [](OpenVSwitch& ovs) { ovs.WaitUntilLetGo("tap1", Soon()); }},
    {"IsServed", [](OpenVSwitch& ovs) { (void)ovs.IsServed(Soon()); }},
    {"FindShaping", [](OpenVSwitch& ovs) { (void)ovs.FindShaping("tap1", Soon()); }},
    {"HasBridge", [](OpenVSwitch& ovs) { (void)ovs.HasBridge("br-int", Soon()); }},
    {"FindBridgeProblem", [](OpenVSwitch& ovs) { (void)ovs.FindBridgeProblem("br-int", Soon()); }},
    {"FindPorts", [](OpenVSwitch& ovs) { (void)ovs.FindPorts({}, Soon()); }},
    {"FindPortState", [](OpenVSwitch& ovs) { (void)ovs.FindPortState("tap1", Soon()); }},
    {"FindTunnel", [](OpenVSwitch&) { (void)FindTunnel(LyingServer::kRemote, Soon()); }},
    {"ListBridges", [](OpenVSwitch&) { (void)ListBridges(LyingServer::kRemote, Soon()); }},
    {"DescribeWiring",
     [](OpenVSwitch&) {
       (void)PortWiring(LyingServer::kRemote, {}, WaitForWiring::kAuto)
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

/// A value of a type that no column has.
const auto kValuesOfNoColumn = json::parse(R"([1.5, null, {}, [], ["set", 1], ["set", [1.5]],
                                               ["map", [["key"]]], ["map", [[1, 2]]]])");

class OvsdbColumnTest : public test::NetnsTest, public ::testing::WithParamInterface<const char*> {
 protected:
  /// How many of `kRequests` end with an error where the column of each row is `value`.
  static int CountErrors(const json& value) {
    int errors = 0;
    for (const auto& [name, request] : kRequests) {
      const LyingServer server([&](const json& params) {
        json results = HonestResults(params);
        for (json& result : results) {
          const auto column = json::json_pointer("/rows/0") / GetParam();
          if (result.contains(column)) result[column] = value;
        }
        return results;
      });
      OpenVSwitch ovs(LyingServer::kRemote);
      const std::error_code code = CodeOf([&, &act = request] { act(ovs); });
      EXPECT_TRUE(!code || code == std::errc::io_error) << name << ": " << value;
      errors += code ? 1 : 0;
    }
    return errors;
  }
};

TEST_P(OvsdbColumnTest, ValueOfAnotherTypeIsAnErrorWhereverItComes) {
  for (const json& value : kValuesOfNoColumn) EXPECT_GT(CountErrors(value), 0) << value;
}

INSTANTIATE_TEST_SUITE_P(Columns, OvsdbColumnTest,
                         ::testing::Values("_uuid", "cur_cfg", "datapath_type", "error",
                                           "external_ids", "fail_mode", "name", "next_cfg",
                                           "ofport", "options", "other_config", "qos", "queues",
                                           "tag", "trunks", "type", "vlan_mode"));

class OvsdbMonitorTest : public test::NetnsTest,
                         public ::testing::WithParamInterface<const char*> {};

TEST_P(OvsdbMonitorTest, FirstRowsOfAnotherFormAreAnError) {
  const LyingServer server(0, json::parse(GetParam()));
  OvsdbClient client(kOpenVSwitchDatabase, LyingServer::kRemote);

  EXPECT_EQ(CodeOf([&] { (void)client.StartMonitor(json::object(), Soon()); }),
            std::errc::io_error);
}

TEST_P(OvsdbMonitorTest, UpdateOfAnotherFormIsAnErrorAndAnothersIsPassedOver) {
  const ScriptedServer server([](int client) {
    const json request = json::parse(ScriptedServer::Receive(client));
    ScriptedServer::Send(
        client,
        json{{"id", request.at("id")}, {"result", json::object()}, {"error", nullptr}}.dump());
    const auto notify = [&](const json& params) {
      ScriptedServer::Send(client,
                           json{{"id", nullptr}, {"method", "update2"}, {"params", params}}.dump());
    };
    notify(json::array());
    notify({"another's", json::object()});
    notify({request.at("params").at(1), json::parse(GetParam())});
    (void)ScriptedServer::Receive(client);
  });
  OvsdbClient client(kOpenVSwitchDatabase, ScriptedServer::remote());
  (void)client.StartMonitor(json::object(), Soon());

  EXPECT_EQ(CodeOf([&] { (void)client.NextUpdate(Soon()); }), std::errc::io_error);
}

INSTANTIATE_TEST_SUITE_P(Forms, OvsdbMonitorTest,
                         ::testing::Values("[]", "5", R"({"Port": []})", R"({"Port": {"u": 5}})",
                                           R"({"Port": {"u": {"initial": null}}})",
                                           R"({"Port": {"u": {"insert": {"name": 5}}}})",
                                           R"({"Port": {"u": {"modify": {"ofport": 1.5}}}})"));

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
