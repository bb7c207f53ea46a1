#include "ovsdb/client.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/event_fd.h"
#include "binding/ovs/database.h"
#include "tests/binding/pod_attachment.h"
#include "tests/ovsdb/code_of.h"
#include "tests/ovsdb/scripted_server.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr {
namespace {

using binding::kOpenVSwitchDatabase;
using binding::Soon;
using nlohmann::json;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

const json kSelectBridges = json::array({{{"op", "select"},
                                          {"table", "Bridge"},
                                          {"where", json::array()},
                                          {"columns", json::array({"name"})}}});

class OvsdbClientTest : public test::NetnsTest {};

TEST_F(OvsdbClientTest, DeadSocketIsRefusedAtOnceAndNamed) {
  std::string what;
  OvsdbClient missing(kOpenVSwitchDatabase, "unix:/run/nothing.sock");
  EXPECT_EQ(CodeOf([&] { (void)missing.Transact(kSelectBridges, Soon()); }, &what),
            std::errc::no_such_file_or_directory);
  EXPECT_THAT(what, HasSubstr("unix:/run/nothing.sock"));

  {
    const ScriptedServer closed([](int) {});
    OvsdbClient client(kOpenVSwitchDatabase, closed.remote());
    EXPECT_NE(CodeOf([&] { (void)client.Transact(kSelectBridges, Soon()); }), std::error_code());
  }
  OvsdbClient dead(kOpenVSwitchDatabase, ScriptedServer::remote());
  EXPECT_EQ(CodeOf([&] { (void)dead.Transact(kSelectBridges, Soon()); }),
            std::errc::connection_refused);
}

TEST_F(OvsdbClientTest, UnknownKindOfRemoteIsRefused) {
  OvsdbClient client(kOpenVSwitchDatabase, "http://127.0.0.1:6640");

  EXPECT_EQ(CodeOf([&] { (void)client.Transact(kSelectBridges, Soon()); }),
            std::errc::address_family_not_supported);
}

TEST_F(OvsdbClientTest, TransactGivesOneResultPerOperation) {
  test::PrivateOvs ovs("/run");
  ovs.Vsctl({"--no-wait", "add-br", "br0"});
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());

  const json results = client.Transact(kSelectBridges, Soon());

  EXPECT_EQ(results, json::parse(R"([{"rows": [{"name": "br0"}]}])"));
  EXPECT_EQ(OvsdbClient::FailureIn(results), std::nullopt);
}

TEST_F(OvsdbClientTest, FailureNamesTheOperationAndTheReason) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  json operations = kSelectBridges;
  operations.push_back({{"op", "abort"}});

  const auto failure = OvsdbClient::FailureIn(client.Transact(operations, Soon()));

  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->operation, 1U);
  EXPECT_EQ(failure->error, "aborted");
  EXPECT_THAT(failure->ToString(), HasSubstr("aborted by request"));
}

TEST_F(OvsdbClientTest, RefusedRequestSaysWhatTheServerSays) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());

  std::string what;
  EXPECT_EQ(
      CodeOf([&] { (void)client.StartMonitor({{"Nonsense", json::array()}}, Soon()); }, &what),
      std::errc::io_error);
  EXPECT_THAT(what, HasSubstr("Nonsense"));
  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
}

TEST_F(OvsdbClientTest, ReconnectsAfterTheServerWasReplaced) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  (void)client.Transact(kSelectBridges, Soon());

  ovs.StopServer();
  EXPECT_NE(CodeOf([&] { (void)client.Transact(kSelectBridges, Soon()); }), std::error_code());
  ovs.StartServer();
  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
  ovs.StopServer();
  ovs.StartServer();
  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
}

TEST_F(OvsdbClientTest, ServerThatDiesBeforeItAnswersIsAnErrorAndNotARetry) {
  ScriptedServer server([](int client) { ScriptedServer::Receive(client); });
  OvsdbClient client(kOpenVSwitchDatabase, server.remote());

  std::string what;
  EXPECT_EQ(CodeOf([&] { (void)client.Transact(kSelectBridges, Soon()); }, &what),
            std::errc::connection_reset);
  EXPECT_THAT(what, HasSubstr(server.remote()));
}

TEST_F(OvsdbClientTest, WhatIsNoJsonRpcIsAProtocolError) {
  ScriptedServer server([](int client) {
    ScriptedServer::Receive(client);
    ScriptedServer::Send(client, "HTTP/1.1 400 Bad Request\r\n\r\n");
    ScriptedServer::Receive(client);
  });
  OvsdbClient client(kOpenVSwitchDatabase, server.remote());

  EXPECT_EQ(CodeOf([&] { (void)client.Transact(kSelectBridges, Soon()); }),
            std::errc::protocol_error);
}

TEST_F(OvsdbClientTest, EchoRequestsAreAnswered) {
  std::string answer;
  {
    ScriptedServer server([&](int client) {
      const json request = json::parse(ScriptedServer::Receive(client));
      ScriptedServer::Send(client, R"({"id":"echo","method":"echo","params":["are you there"]})");
      answer = ScriptedServer::Receive(client);
      const json result = json::parse(R"([{"rows": []}])");
      ScriptedServer::Send(
          client, json{{"id", request.at("id")}, {"result", result}, {"error", nullptr}}.dump());
    });
    OvsdbClient client(kOpenVSwitchDatabase, server.remote());
    (void)client.Transact(kSelectBridges, Soon());
  }

  EXPECT_EQ(json::parse(answer),
            json::parse(R"({"id":"echo","result":["are you there"],"error":null})"));
}

TEST_F(OvsdbClientTest, WaitGivesUpAtTheDeadline) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  ovs.server().Signal(SIGSTOP);
  const auto start = Deadline::Clock::now();

  EXPECT_EQ(CodeOf([&] { (void)client.Transact(kSelectBridges, Deadline::After(30ms)); }),
            std::errc::timed_out);

  EXPECT_THAT(Deadline::Clock::now() - start, AllOf(Ge(30ms), Lt(5s)));
}

TEST_F(OvsdbClientTest, ConnectGivesUpAtTheDeadline) {
  RunOnHost({"ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1"});
  RunOnHost({"ip", "link", "set", "d0", "up"});
  RunOnHost({"ip", "addr", "add", "192.0.2.1/24", "dev", "d0"});
  OvsdbClient client(kOpenVSwitchDatabase, "tcp:192.0.2.2:6640");

  EXPECT_EQ(CodeOf([&] { (void)client.Transact(kSelectBridges, Deadline::After(30ms)); }),
            std::errc::timed_out);
}

/// Connections that wait in the server's queue: as many as it holds.
std::vector<UniqueFd> FillQueue(const std::string& remote) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  remote.copy(address.sun_path, sizeof address.sun_path - 1, std::string("unix:").size());
  std::vector<UniqueFd> waiting;
  for (;;) {
    UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      if (errno != EAGAIN) ThrowErrno("connect to " + remote);
      return waiting;
    }
    waiting.push_back(std::move(client));
  }
}

TEST_F(OvsdbClientTest, PlaceInTheServersFullQueueIsWaitedFor) {
  test::PrivateOvs ovs("/run");
  ovs.server().Signal(SIGSTOP);
  const auto waiting = FillQueue(ovs.remote());
  auto done = std::async(std::launch::async, [&] {
    OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
    (void)client.Transact(kSelectBridges, Soon());
  });

  // Gives the client time to fail; if it comes too late for the full queue, the test still passes.
  done.wait_for(50ms);
  ovs.server().Signal(SIGCONT);

  EXPECT_NO_THROW(done.get());
}

TEST_F(OvsdbClientTest, WaitForAPlaceInTheServersQueueGivesUpAtTheDeadline) {
  test::PrivateOvs ovs("/run");
  ovs.server().Signal(SIGSTOP);
  const auto waiting = FillQueue(ovs.remote());
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());

  std::string what;
  EXPECT_EQ(CodeOf([&] { client.Connect(Deadline::After(30ms)); }, &what), std::errc::timed_out);
  EXPECT_THAT(what, AllOf(HasSubstr(ovs.remote()), HasSubstr("queue of connections is full")));

  ovs.server().Signal(SIGCONT);
  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
}

TEST_F(OvsdbClientTest, WaitForAPlaceInTheServersQueueEndsWhenCancelled) {
  test::PrivateOvs ovs("/run");
  ovs.server().Signal(SIGSTOP);
  const auto waiting = FillQueue(ovs.remote());
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  const EventFd cancel;
  const std::jthread canceller([&] { cancel.Set(); });

  EXPECT_EQ(CodeOf([&] { client.Connect(Deadline::After(60s, cancel.fd())); }),
            std::errc::operation_canceled);
}

TEST_F(OvsdbClientTest, WaitEndsWhenCancelled) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  ovs.server().Signal(SIGSTOP);
  const EventFd cancel;
  const std::jthread canceller([&] { cancel.Set(); });

  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        CodeOf([&] { (void)client.Transact(kSelectBridges, Deadline::After(60s, cancel.fd())); }),
        std::errc::operation_canceled);
  }
}

TEST_F(OvsdbClientTest, CancelledRequestLeavesTheClientUsable) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  ovs.server().Signal(SIGSTOP);
  EXPECT_EQ(CodeOf([&] { (void)client.Transact(kSelectBridges, Deadline::After(1ms)); }),
            std::errc::timed_out);

  ovs.server().Signal(SIGCONT);

  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
}

TEST_F(OvsdbClientTest, MonitorGivesTheRowsAndThenTheirChanges) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  const json requests =
      json::parse(R"({"Bridge": [{"columns": ["name"], "where": [["name", "==", "br1"]]}]})");

  EXPECT_EQ(client.StartMonitor(requests, Soon()), json::object());
  ovs.Vsctl({"--no-wait", "add-br", "br0"});
  ovs.Vsctl({"--no-wait", "add-br", "br1"});
  const json update = client.NextUpdate(Soon());

  EXPECT_EQ(update.at("Bridge").begin().value(), json::parse(R"({"insert": {"name": "br1"}})"));
}

TEST_F(OvsdbClientTest, UpdatesOfAStoppedMonitorAreNotGivenToTheNext) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  const json bridges = json::parse(R"({"Bridge": [{"columns": ["name"]}]})");
  const json ports = json::parse(R"({"Port": [{"columns": ["name"]}]})");

  (void)client.StartMonitor(bridges, Soon());
  ovs.Vsctl({"--no-wait", "add-br", "br0"});
  client.StopMonitor();
  (void)client.StartMonitor(ports, Soon());
  ovs.Vsctl({"--no-wait", "add-br", "br1"});
  const json update = client.NextUpdate(Soon());

  EXPECT_TRUE(update.contains("Port")) << update;
  EXPECT_FALSE(update.contains("Bridge")) << update;
}

TEST_F(OvsdbClientTest, AMonitorIsLostWithItsConnection) {
  test::PrivateOvs ovs("/run");
  OvsdbClient client(kOpenVSwitchDatabase, ovs.remote());
  (void)client.StartMonitor(json::parse(R"({"Bridge": [{"columns": ["name"]}]})"), Soon());

  ovs.StopServer();
  ovs.StartServer();

  EXPECT_THROW((void)client.Transact(kSelectBridges, Soon()), OvsdbConnectionLost);
  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
  EXPECT_EQ(CodeOf([&] { (void)client.NextUpdate(Soon()); }), std::errc::not_connected);
}

/// All sockets that this process has open.
std::set<std::string> OwnSockets() {
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // for the descriptor of the listing itself
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (target.starts_with("socket:")) sockets.insert(target);
  }
  return sockets;
}

TEST_F(OvsdbClientTest, KeptConnectionServesTheNextClient) {
  const test::PrivateOvs ovs("/run");
  OvsdbConnections kept;
  (void)OvsdbClient(kOpenVSwitchDatabase, ovs.remote(), &kept).Transact(kSelectBridges, Soon());
  const auto sockets = OwnSockets();

  OvsdbClient next(kOpenVSwitchDatabase, ovs.remote(), &kept);
  (void)next.Transact(kSelectBridges, Soon());
  EXPECT_EQ(OwnSockets(), sockets);
  OvsdbClient beside(kOpenVSwitchDatabase, ovs.remote(), &kept);
  (void)beside.Transact(kSelectBridges, Soon());
  EXPECT_EQ(OwnSockets().size(), sockets.size() + 1);
}

TEST_F(OvsdbClientTest, KeptConnectionThatTheServerClosedIsReplaced) {
  test::PrivateOvs ovs("/run");
  OvsdbConnections kept;
  {
    OvsdbClient one(kOpenVSwitchDatabase, ovs.remote(), &kept);
    OvsdbClient other(kOpenVSwitchDatabase, ovs.remote(), &kept);
    for (OvsdbClient* client : {&one, &other}) (void)client->Transact(kSelectBridges, Soon());
  }
  ovs.StopServer();
  ovs.StartServer();

  EXPECT_NO_THROW((void)OvsdbClient(kOpenVSwitchDatabase, ovs.remote(), &kept)
                      .Transact(kSelectBridges, Soon()));
}

TEST_F(OvsdbClientTest,
       KeptConnectionThatTheServerIsAboutToCloseIsReplacedWhereARequestMayBeRepeated) {
  const ScriptedServer server(
      [&](int client) {
        const json request = json::parse(ScriptedServer::Receive(client));
        ScriptedServer::Send(client, json{{"id", request.at("id")},
                                          {"error", nullptr},
                                          {"result", {{{"rows", json::array()}}}}}
                                         .dump());
        ScriptedServer::Receive(client);
      },
      2);
  OvsdbConnections kept;
  const auto select = [&](OvsdbClient& client) { return client.Transact(kSelectBridges, Soon()); };
  {
    OvsdbClient first(kOpenVSwitchDatabase, ScriptedServer::remote(), &kept);
    (void)select(first);
  }
  OvsdbClient next(kOpenVSwitchDatabase, ScriptedServer::remote(), &kept);

  EXPECT_NO_THROW((void)next.Insist(Soon(), [&] { return select(next); }));
  EXPECT_THROW((void)next.Insist(Soon(), [&] { return select(next); }), OvsdbConnectionLost);
}

TEST_F(OvsdbClientTest, WithoutAnAnswerNoConnectionIsKept) {
  test::PrivateOvs ovs("/run");
  OvsdbConnections kept;
  const auto before = OwnSockets();
  {
    OvsdbClient one(kOpenVSwitchDatabase, ovs.remote(), &kept);
    OvsdbClient other(kOpenVSwitchDatabase, ovs.remote(), &kept);
    for (OvsdbClient* client : {&one, &other}) (void)client->Transact(kSelectBridges, Soon());
  }
  ovs.server().Signal(SIGSTOP);

  EXPECT_NE(CodeOf([&] {
              (void)OvsdbClient(kOpenVSwitchDatabase, ovs.remote(), &kept)
                  .Transact(kSelectBridges, Deadline::After(1ms));
            }),
            std::error_code());

  EXPECT_EQ(OwnSockets(), before);
  ovs.server().Signal(SIGCONT);
}

TEST_F(OvsdbClientTest, UpdatesForAnEarlierClientAreNotGivenToTheNext) {
  test::PrivateOvs ovs("/run");
  OvsdbConnections kept;
  {
    OvsdbClient earlier(kOpenVSwitchDatabase, ovs.remote(), &kept);
    (void)earlier.StartMonitor(json::parse(R"({"Bridge": [{"columns": ["name"]}]})"), Soon());
    ovs.Vsctl({"--no-wait", "add-br", "br0"});
    earlier.StopMonitor();
  }
  OvsdbClient next(kOpenVSwitchDatabase, ovs.remote(), &kept);

  (void)next.StartMonitor(json::parse(R"({"Port": [{"columns": ["name"]}]})"), Soon());
  ovs.Vsctl({"--no-wait", "add-br", "br1"});
  const json update = next.NextUpdate(Soon());

  EXPECT_TRUE(update.contains("Port")) << update;
  EXPECT_FALSE(update.contains("Bridge")) << update;
}

TEST_F(OvsdbClientTest, TcpRemote) {
  test::PrivateOvs ovs("/run");
  ovs.StopServer();
  ovs.StartServer({"--remote=ptcp:6640:127.0.0.1"});
  OvsdbClient client(kOpenVSwitchDatabase, "tcp:127.0.0.1:6640");

  EXPECT_NO_THROW((void)client.Transact(kSelectBridges, Soon()));
}

TEST_F(OvsdbClientTest, LibraryWritesNothingAndLeavesTheSignalsAlone) {
  struct sigaction before{};
  ::sigaction(SIGTERM, nullptr, &before);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    ScriptedServer server([](int client) { ScriptedServer::Send(client, "nonsense"); });
    OvsdbClient client(kOpenVSwitchDatabase, server.remote());
    EXPECT_NE(CodeOf([&] { (void)client.Transact(kSelectBridges, Soon()); }), std::error_code());
    EXPECT_NE(CodeOf([&] { (void)client.Transact(kSelectBridges, Deadline::After(10ms)); }),
              std::error_code());
  }

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  struct sigaction after{};
  ::sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace kuryr
