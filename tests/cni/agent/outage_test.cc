#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/rollback.h"
#include "cni/attachments/process.h"
#include "cni/protocol/agent_socket.h"
#include "tests/cni/agent/agent_fixture.h"

// kuryr-daemon starts anew, or is away; nobody keeps its socket meanwhile.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kWaits = "waiting for it";

class OutageTest : public AgentTest {
 protected:
  [[nodiscard]] ProcessResult Status() const {
    return Run("STATUS", {.name = "any"}, {{"stdin", StatusConfig()}});
  }
  /// As a STATUS has written it that found no agent so long ago.
  void NoteAbsence(std::chrono::milliseconds ago, const std::string& boot = cni::BootId()) const {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    std::ofstream(Note()) << boot << " " << now.tv_sec * 1000 - ago.count() << "\n";
    std::filesystem::permissions(
        Note(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  [[nodiscard]] std::filesystem::path Note() const { return agent_socket().string() + ".absent"; }
  void Configure(const std::string& cni_daemon) {
    WriteConfig(DefaultKubernetes(), "[cni_daemon]\n" + cni_daemon + "\n");
  }
  /// One that tells when it waits for the agent.
  [[nodiscard]] Process StartAdd(const TestPod& pod) const {
    return Process(Call("ADD", pod,
                        {{"stdin", R"({"cniVersion":"1.0.0","debug":true,"kuryr_conf":")" +
                                       (work_ / "kuryr.conf").string() +
                                       R"(","name":"kuryr","type":"kuryr-cni"})"}}));
  }
  [[nodiscard]] Process StartAddThatWaits(const TestPod& pod) const {
    Process add = StartAdd(pod);
    add.WaitForOutput(kWaits);
    return add;
  }
  static json ErrorOf(Process& add) {
    const ProcessResult result = add.Wait();
    EXPECT_EQ(result.status, 1) << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }
  /// A pod that is plugged, and whose DEL found neither the agent nor Open vSwitch's database.
  TestPod DeletedInVain() {
    TestPod pod = ActivePod("nginx");
    EXPECT_EQ(Run("ADD", pod).status, 0);
    StopAgent(SIGKILL);
    ovs_->StopServer();
    const ProcessResult del = Run("DEL", pod);
    EXPECT_EQ(del.status, 0) << del.out;
    EXPECT_THAT(del.err, HasSubstr("left to kuryr-daemon"));
    return pod;
  }
};

TEST_F(OutageTest, NoCallFailsWhileTheAgentIsStartedAnew) {
  constexpr int kRestarts = 5;
  std::vector<TestPod> pods;
  for (const char* name : {"a", "b", "c", "d"}) pods.push_back(ActivePod(name));
  std::atomic<bool> over = false;
  std::vector<std::jthread> clients;
  clients.reserve(pods.size());
  for (const TestPod& pod : pods) {
    clients.emplace_back([this, &pod, &over] {
      while (!over) {
        const ProcessResult add = Run("ADD", pod);
        EXPECT_EQ(add.status, 0) << add.out << add.err;
        const ProcessResult del = Run("DEL", pod);
        EXPECT_EQ(del.status, 0) << del.out << del.err;
      }
    });
  }

  const Rollback end([&over] { over = true; });

  for (int restart = 0; restart < kRestarts; ++restart) {
    StopAgent(SIGTERM);
    const TestPod pod = ActivePod("late-" + std::to_string(restart));
    Process add = StartAddThatWaits(pod);
    StartAgent();
    const ProcessResult result = add.Wait();
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(Run("DEL", pod).status, 0);
  }

  over = true;
  clients.clear();
  ExpectNothingLeft();
}

TEST_F(OutageTest, ACallInTheBacklogGoesToTheNextAgent) {
  Configure("max_calls = 1");
  StopAgent(SIGTERM);
  StartAgent();
  const TestPod first = MakePod("first");
  Annotate(first, Vif(first, false));
  Process at_work(Call("ADD", first));
  WaitUntilPlugged(first);
  const TestPod second = ActivePod("second");
  Process queued = StartAdd(second);
  queued.WaitForOutput("call begins");

  agent_->Signal(SIGTERM);
  queued.WaitForOutput(kWaits);
  Annotate(first, Vif(first, true));

  EXPECT_EQ(at_work.Wait().status, 0);
  EXPECT_EQ(agent_->Wait().status, 0);
  StartAgent();
  EXPECT_EQ(queued.Wait().status, 0);
}

TEST_F(OutageTest, AnAddThatWaitsLongIsUndoneAndDoneByTheNextAgent) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add = StartAdd(pod);
  WaitUntilPlugged(pod);

  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait().status, 0);
  ExpectNothingLeft();
  add.WaitForOutput(kWaits);
  StartAgent();
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(add.Wait().status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

/// What a call looks like that is handed over again.
TEST_F(OutageTest, AnAddWhoseAgentWasKilledBeforeItsAnswerIsDoneByTheNextAgent) {
  const auto call_of = [](const std::string& id) {
    return json{{"TRACEPARENT", "00-" + id + "-00f067aa0ba902b7-01"}};
  };
  const json call = call_of("4bf92f3577b34da6a3ce929d0e0e4736");
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod, call).status, 0);
  StopAgent(SIGKILL);
  StartAgent();

  const ProcessResult another = Run("ADD", pod, call_of("5bf92f3577b34da6a3ce929d0e0e4736"));
  EXPECT_EQ(json::parse(another.out)["code"], 100) << another.out;
  const ProcessResult add = Run("ADD", pod, call);
  EXPECT_EQ(add.status, 0) << add.out << add.err;
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(OutageTest, AKilledAgentsAddIsDoneByTheNextAgent) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add = StartAdd(pod);
  WaitUntilPlugged(pod);
  StopAgent(SIGKILL);
  add.WaitForOutput(kWaits);
  Annotate(pod, Vif(pod, true));

  StartAgent();

  EXPECT_EQ(add.Wait().status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(OutageTest, ASocketThatIsMissingWhereOneHasToBeIsAwaited) {
  StopAgent(SIGTERM);
  std::filesystem::remove(agent_socket());
  Configure("daemon_enabled = true");
  Process add = StartAddThatWaits(ActivePod("nginx"));

  StartAgent();

  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(OutageTest, AgentWait0Answers11AtOnce) {
  Configure("agent_wait = 0");
  StopAgent(SIGKILL);
  Process add = StartAdd(ActivePod("nginx"));

  const ProcessResult result = add.Wait();

  EXPECT_EQ(json::parse(result.out)["code"], 11);
  EXPECT_THAT(result.err, Not(HasSubstr(kWaits)));
}

TEST_F(OutageTest, AnAgentThatDoesNotComeInTimeIsCode11WithItsSocket) {
  Configure("agent_wait = 1");
  StopAgent(SIGKILL);
  Process add = StartAddThatWaits(ActivePod("nginx"));

  const json error = ErrorOf(add);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(std::string(error["msg"]), HasSubstr(agent_socket().string()));
}

TEST_F(OutageTest, TheMessageSaysThatTheAgentIsRestartedAndHowLongWasWaited) {
  Configure("agent_wait = 1");
  StopAgent(SIGKILL);
  Process add = StartAddThatWaits(ActivePod("nginx"));

  EXPECT_EQ(
      std::string(ErrorOf(add)["msg"]),
      "kuryr-daemon is down, or being restarted: waited 1 s for it at " + agent_socket().string());
}

TEST_F(OutageTest, AgentWaitIsForEachOutage) {
  // Shorter than the time after which the agent tells that it waits for the pod's VIF.
  Configure("agent_wait = 4");
  StopAgent(SIGKILL);
  const TestPod pod = MakePod("nginx");
  Process add = StartAddThatWaits(pod);
  StartAgent();
  ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events", 1,
                                   std::chrono::seconds(30)));

  StopAgent(SIGKILL);
  StartAgent();
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = add.Wait();
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

TEST_F(OutageTest, TheAgentSaysWhosePluginWentAwayBeforeItsAnswer) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add = StartAdd(pod);
  WaitUntilPlugged(pod);

  add.Signal(SIGKILL);
  (void)add.Wait();

  EXPECT_THAT(EndAgent(), HasSubstr("msg=\"the plugin went away before its answer\" error="));
}

TEST_F(OutageTest, NoAddWaitsForAnAgentBeyondItsOwnTime) {
  Configure("agent_wait = 3600\nvif_annotation_timeout = 1");
  StopAgent(SIGKILL);
  Process add = StartAddThatWaits(ActivePod("nginx"));

  EXPECT_EQ(ErrorOf(add)["code"], 11);
}

TEST_F(OutageTest, ASigtermEndsAnAddThatWaitsForTheAgent) {
  Configure("agent_wait = 3600\nvif_annotation_timeout = 220");
  StopAgent(SIGKILL);
  Process add = StartAddThatWaits(ActivePod("nginx"));

  add.Signal(SIGTERM);

  const json error = ErrorOf(add);
  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(std::string(error["msg"]), HasSubstr(agent_socket().string()));
}

TEST_F(OutageTest, DEL_17_WhatADelCannotRemoveTheNextAgentRemovesWhenItCan) {
  const TestPod pod = DeletedInVain();
  EXPECT_THAT(Records(), SizeIs(1));
  EXPECT_EQ(Run("DEL", pod).status, 0) << "it may be repeated";
  StartAgent();
  EXPECT_THAT(Metrics(), HasSubstr("\nkuryr_daemon_leftover_attachments 1\n"));

  ovs_->StartServer();
  agent_->WaitForOutput("removed an attachment", std::chrono::seconds(30));

  ExpectNothingLeft();
  EXPECT_THAT(Metrics(), HasSubstr("\nkuryr_daemon_leftover_attachments 0\n"));
}

TEST_F(OutageTest, AnAddClearsWhatADelHasLeftOfItsAttachment) {
  const TestPod pod = DeletedInVain();
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  ovs_->StartServer();

  const ProcessResult add = Run("ADD", pod);

  EXPECT_EQ(add.status, 0) << add.out << add.err;
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(OutageTest, WhatADelHasLeftDoesNotKeepTheAgentFromEnding) {
  (void)DeletedInVain();
  StartAgent();

  agent_->Signal(SIGTERM);

  EXPECT_EQ(agent_->Wait().status, 0);
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(OutageTest, ADelIsNotHeldByAnAgentThatStandsStill) {
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  agent_->Signal(SIGSTOP);

  const ProcessResult del = Run("DEL", pod);

  EXPECT_EQ(del.status, 0) << del.out;
  EXPECT_THAT(del.err, HasSubstr("stands still"));
  ExpectNothingLeft();
  agent_->Signal(SIGCONT);
}

TEST_F(OutageTest, AnAddIsNotHeldByAnAgentThatStandsStill) {
  const TestPod pod = ActivePod("nginx");
  agent_->Signal(SIGSTOP);

  const json error = json::parse(Run("ADD", pod).out);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(std::string(error["details"]), HasSubstr("stands still"));
  agent_->Signal(SIGCONT);
}

TEST_F(OutageTest, AnAddThatWaitsLongIsNotTakenForAnAgentThatStandsStill) {
  const TestPod pod = MakePod("nginx");
  Process add = StartAdd(pod);
  // The agent tells it after 5 s, and the plugin asks before.
  ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events"));

  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(OutageTest, AnAbsenceInWhichAnAddWaitsMakesNoNodeNotReady) {
  AddBridge();
  ASSERT_EQ(Status().out, "");
  for (const int signal : {SIGKILL, SIGTERM}) {
    StopAgent(signal);

    for (int asked = 0; asked < 3; ++asked) EXPECT_EQ(Status().out, "");
    EXPECT_TRUE(std::filesystem::exists(Note()));

    StartAgent();
    EXPECT_FALSE(std::filesystem::exists(Note()));
    EXPECT_EQ(Status().out, "");
  }
}

TEST_F(OutageTest, ALastingAbsenceIsCode50ThatSaysHowLongItLasts) {
  AddBridge();
  StopAgent(SIGKILL);
  NoteAbsence(std::chrono::seconds(75));

  const json error = json::parse(Status().out);

  EXPECT_EQ(error["code"], 50);
  EXPECT_THAT(std::string(error["msg"]),
              AllOf(HasSubstr("kuryr-daemon has not answered at " + agent_socket().string()),
                    ContainsRegex(" for (7[5-9]|[89][0-9]) s"),
                    HasSubstr("ADDs wait for 10 s ([cni_daemon]")));
  StartAgent();
  EXPECT_EQ(Status().out, "");
}

TEST_F(OutageTest, ANoteOfAnotherBootOrOneThatWasCutOffSaysNothing) {
  StopAgent(SIGKILL);
  NoteAbsence(std::chrono::seconds(75), "0f3c2ab4-0000-0000-0000-000000000000");
  EXPECT_EQ(Status().out, "");
  NoteAbsence(-std::chrono::hours(1));
  EXPECT_EQ(Status().out, "");
  std::ofstream(Note()) << cni::BootId() << " 1";
  EXPECT_EQ(Status().out, "");
}

TEST_F(OutageTest, NobodyButRootSaysThatTheAgentIsAway) {
  StopAgent(SIGKILL);
  NoteAbsence(std::chrono::seconds(1));
  ASSERT_EQ(::chown(Note().c_str(), 65534, 65534), 0);

  const json error = json::parse(Status().out);

  EXPECT_THAT(error.dump(), HasSubstr(Note().string()));
}

TEST_F(OutageTest, AnAgentThatStandsStillForAWhileMakesNoNodeNotReady) {
  AddBridge();
  agent_->Signal(SIGSTOP);
  EXPECT_EQ(Status().out, "");
  NoteAbsence(std::chrono::seconds(75));
  EXPECT_EQ(json::parse(Status().out)["code"], 50);

  agent_->Signal(SIGCONT);

  EXPECT_EQ(Status().out, "");
  EXPECT_FALSE(std::filesystem::exists(Note()));
}

TEST_F(OutageTest, ASocketThatSystemdKeepsForAnAgentThatIsAwayIsNone) {
  StopAgent(SIGTERM);
  const UniqueFd listener = cni::ListenAt(agent_socket());
  EXPECT_EQ(Status().out, "");
  NoteAbsence(std::chrono::seconds(75));

  const json error = json::parse(Status().out);

  EXPECT_EQ(error["code"], 50);
  EXPECT_THAT(std::string(error["details"]),
              HasSubstr("no agent answers at " + status_socket().string()));
}

TEST_F(OutageTest, AStatusIsLoggedWhenItsAnswerChanges) {
  for (int asked = 0; asked < 3; ++asked) EXPECT_EQ(Status().status, 1) << "there is no bridge";
  AddBridge();
  for (int asked = 0; asked < 3; ++asked) EXPECT_EQ(Status().status, 0);

  const std::string log = EndAgent();

  size_t lines = 0;
  for (size_t at = 0; (at = log.find("command=STATUS", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 2U) << log;
}

TEST_F(OutageTest, AStatusAsksNothingOfAnOpenVSwitchThatHasJustAnswered) {
  AddBridge();
  const auto config_number = [this] {
    return ovs_->Vsctl({"--no-wait", "get", "Open_vSwitch", ".", "next_cfg"});
  };
  ASSERT_EQ(Status().out, "");
  const std::string before = config_number();

  for (int asked = 0; asked < 3; ++asked) EXPECT_EQ(Status().out, "");

  EXPECT_EQ(config_number(), before);
}

TEST_F(OutageTest, WithoutAnyAgentADelThatFailsSaysSoAndChangesNothing) {
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  const std::filesystem::path file = work_ / "state/attachments" / Records().at(0);
  const auto record = [&] {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string before = record();
  StopAgent(SIGTERM);
  ovs_->StopServer();

  Configure("daemon_enabled = false");
  EXPECT_EQ(Run("DEL", pod).status, 1);
  Configure("daemon_enabled = auto");
  std::filesystem::remove(agent_socket());
  EXPECT_EQ(Run("DEL", pod).status, 1);

  EXPECT_EQ(record(), before);
}

}  // namespace
}  // namespace kuryr::test
