// ovsdb-server stops for a while, and patient clients wait for it.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "base/event_fd.h"
#include "binding/ovs/database.h"
#include "ovsdb/client.h"
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

const json kQuestion = json::array({{{"op", "select"},
                                     {"table", "Bridge"},
                                     {"where", json::array()},
                                     {"columns", json::array({"name"})}}});
constexpr const char* kNothing = "unix:/run/nothing.sock";

class OvsdbOutageTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    ovs_->StopServer();
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }
  /// Starts a request, and checks that it has not ended after a while.
  static std::future<void> StartToAsk(OvsdbClient& client) {
    auto asking = std::async(std::launch::async, [&client, host = binding::Netns::Current()] {
      const binding::NetnsGuard guard(host);
      (void)client.Transact(kQuestion, Soon());
    });
    EXPECT_EQ(asking.wait_for(100ms), std::future_status::timeout);
    return asking;
  }
  void ExpectWaitsUntilServedAt(const std::string& remote, const std::string& option) {
    OvsdbClient client(kOpenVSwitchDatabase, remote, nullptr, 1min);
    auto asking = StartToAsk(client);

    ovs_->StartServer({"--remote=p" + option});

    EXPECT_NO_THROW(asking.get());
  }
  static void Answer(int client) {
    const json request = json::parse(ScriptedServer::Receive(client));
    const json no_rows = json::array({{{"rows", json::array()}}});
    ScriptedServer::Send(
        client, json{{"id", request.at("id")}, {"result", no_rows}, {"error", nullptr}}.dump());
  }

  std::optional<test::PrivateOvs> ovs_;
};

TEST_F(OvsdbOutageTest, AServerThatIsStartedAgainIsWaitedFor) {
  OvsdbClient client(kOpenVSwitchDatabase, ovs_->remote(), nullptr, 1min);
  auto asking = StartToAsk(client);

  ovs_->StartServer();

  EXPECT_NO_THROW(asking.get());
}

TEST_F(OvsdbOutageTest, SoIsOneWhoseFolderIsMissingToo) {
  OvsdbClient client(kOpenVSwitchDatabase, "unix:/run/later/db.sock", nullptr, 1min);
  auto asking = StartToAsk(client);

  std::filesystem::create_directory("/run/later");
  ovs_->StartServer({"--remote=punix:/run/later/db.sock"});

  EXPECT_NO_THROW(asking.get());
}

TEST_F(OvsdbOutageTest, SoIsOneOfTcp) {
  ExpectWaitsUntilServedAt("tcp:127.0.0.1:6640", "tcp:6640:127.0.0.1");
}

TEST_F(OvsdbOutageTest, WithoutPatienceNobodyWaits) {
  OvsdbClient client(kOpenVSwitchDatabase, kNothing);

  EXPECT_EQ(CodeOf([&] { client.Connect(Soon()); }), std::errc::no_such_file_or_directory);
}

TEST_F(OvsdbOutageTest, TheErrorSaysWhereAndHowLongWasWaited) {
  OvsdbClient client(kOpenVSwitchDatabase, kNothing, nullptr, 1s);

  std::string what;
  EXPECT_EQ(CodeOf([&] { client.Connect(Soon()); }, &what), std::errc::timed_out);

  EXPECT_EQ(what,
            "Open vSwitch is down, or being restarted: waited 1 s for ovsdb-server at "
            "unix:/run/nothing.sock (No such file or directory)");
}

TEST_F(OvsdbOutageTest, ADeadlineEndsTheWaitEarlier) {
  OvsdbClient client(kOpenVSwitchDatabase, kNothing, nullptr, 1h);

  EXPECT_THROW(client.Connect(Deadline::After(30ms)), OvsdbAway);
}

TEST_F(OvsdbOutageTest, BeingCancelledEndsTheWait) {
  OvsdbClient client(kOpenVSwitchDatabase, kNothing, nullptr, 1h);
  const EventFd cancel;
  const std::jthread canceller([&] { cancel.Set(); });

  EXPECT_EQ(CodeOf([&] { client.Connect(Deadline::After(60s, cancel.fd())); }),
            std::errc::operation_canceled);
}

TEST_F(OvsdbOutageTest, PatienceIsForEachOutage) {
  OvsdbClient client(kOpenVSwitchDatabase, ScriptedServer::remote(), nullptr, 10s);
  for (int outage = 0; outage < 2; ++outage) {
    auto asking = StartToAsk(client);
    // This takes most of the client's patience.
    std::this_thread::sleep_for(6s);

    const ScriptedServer server(Answer);

    EXPECT_NO_THROW(asking.get()) << outage;
  }
}

TEST_F(OvsdbOutageTest, AServerThatHangsUpOnEveryRequestIsNotAskedForEver) {
  constexpr int kTimes = 5;
  std::atomic<int> asked = 0;
  {
    const ScriptedServer server(
        [&](int client) {
          ScriptedServer::Receive(client);
          ++asked;
        },
        kTimes);
    OvsdbClient client(kOpenVSwitchDatabase, ScriptedServer::remote(), nullptr, 1min);

    EXPECT_THROW(client.Insist(Soon(), [&] { (void)client.Transact(kQuestion, Soon()); }),
                 OvsdbConnectionLost);
  }
  EXPECT_EQ(asked, kTimes);
}

TEST_F(OvsdbOutageTest, AllWhoWaitShareTheWatchOfTheFolderUntilItHasNoticedSomething) {
  OvsdbConnections kept;
  const auto first = kept.WatchFolder(kNothing);
  EXPECT_EQ(kept.WatchFolder(kNothing), first);
  EXPECT_NE(kept.WatchFolder(ovs_->remote()), first);

  std::ofstream("/run/something") << "";

  EXPECT_TRUE(first->HasNoticed());
  EXPECT_NE(kept.WatchFolder(kNothing), first);
  EXPECT_EQ(kept.WatchFolder("tcp:127.0.0.1:6640"), nullptr);
}

}  // namespace
}  // namespace kuryr
