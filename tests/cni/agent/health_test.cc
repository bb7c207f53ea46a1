#include "service/health_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cni/agent/call_metrics.h"
#include "config/program_options.h"
#include "service/health_client.h"
#include "service/health_port.h"
#include "tests/cni/agent/agent_fixture.h"
#include "tests/support/paths.h"

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// "STATUS TEXT" of what an HTTP server of this host answers.
std::string Ask(const std::string& path, const std::vector<std::string>& options = {},
                const std::string& address = "127.0.0.1:8090") {
  std::vector<std::string> argv = {"curl", "--silent",    "--max-time",
                                   "10",   "--write-out", "%{stderr}%{http_code}"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back("http://" + address + path);
  const ProcessResult result = RunProgram({.argv = argv});
  return result.err + " " + result.out;
}

/// Asks until the answer is of `status`, and returns it.
std::string AskUntil(const std::string& path, const std::string& status) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  std::string answer;
  do answer = Ask(path);
  while (answer.rfind(status, 0) != 0 && std::chrono::steady_clock::now() < end);
  return answer;
}

/// Takes more connections than the server has threads, and asks on each, byte by byte, for ever.
constexpr const char* kAskSlowly = R"(
import socket, time
asks = [socket.create_connection(('127.0.0.1', 8090), source_address=('127.0.0.2', 0)) for _ in range(6)]
for ask in asks:
    ask.sendall(b'GET /alive HTTP/1.1\r\nX-Slow: ')
print('asking', flush=True)
while True:
    for ask in asks:
        try:
            ask.sendall(b'x')
        except OSError:
            pass
    time.sleep(0.5)
)";

class HealthTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    AddBridge();
  }
  /// The samples of /metrics by name and labels, as Prometheus' own parser reads them.
  static nlohmann::json Metrics() {
    const std::string read =
        "import json, sys, urllib.request\n"
        "from prometheus_client.parser import text_string_to_metric_families as parse\n"
        "text = urllib.request.urlopen('http://127.0.0.1:8090/metrics').read().decode()\n"
        "name = lambda s: ' '.join([s.name] + [k + '=' + v for k, v in sorted(s.labels.items())])\n"
        "print(json.dumps({name(s): s.value for family in parse(text) for s in family.samples}))\n";
    const ProcessResult result = RunProgram({.argv = {"/usr/bin/python3", "-c", read}});
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
};

TEST_F(HealthTest, AnswersThreeQuestionsOnLoopbackAndNothingElse) {
  EXPECT_EQ(Ask("/alive"), "200 ok\n");
  EXPECT_EQ(Ask("/ready"), "200 ok\n");
  EXPECT_THAT(Ask("/metrics"), HasSubstr("200 # HELP kuryr_daemon_"));
  EXPECT_THAT(Ask("/"), HasSubstr("404 "));
  EXPECT_THAT(Ask("/metrics/.."), HasSubstr("404 "));
  EXPECT_THAT(Ask("/alive", {"--data", "x=1"}), HasSubstr("405 "));
  EXPECT_THAT(Ask("/alive", {"--head"}), HasSubstr("405 "));
  EXPECT_THAT(Ask("/alive", {"--header", "X: " + std::string(9000, 'x')}), HasSubstr("400 "));
  const std::string listeners =
      RunOnHost({"ss", "--listening", "--tcp", "--numeric", "--no-header"});
  EXPECT_THAT(listeners, HasSubstr("127.0.0.1:8090"));
  EXPECT_THAT(listeners, ::testing::Not(HasSubstr("0.0.0.0:8090")));
}

TEST_F(HealthTest, APortThatIsTakenIsToldAndTakenWhenItIsFree) {
  StopAgent(SIGTERM);
  Process other({.argv = {"/usr/bin/python3", "-c",
                          "import socket, time\n"
                          "server = socket.create_server(('127.0.0.1', 8090))\n"
                          "print('taken', flush=True)\n"
                          "time.sleep(600)\n"}});
  other.WaitForOutput("taken");
  StartAgent();
  // It has listed the pods before it watches them.
  ASSERT_TRUE(api_->WaitForRequest("watch", "/api/v1", 2));
  const auto ask = [this](const char* question) {
    return RunProgram({.argv = {test::BinDir() + "/kuryr-daemon", "--config-file",
                                (work_ / "kuryr.conf").string(), question}});
  };
  const std::string why =
      "nobody can ask for health and metrics: listen at 127.0.0.1 port 8090: Address already in "
      "use\n";

  const ProcessResult health = ask("health");
  const ProcessResult status = ask("status");
  other.Signal(SIGKILL);
  (void)other.Wait();
  agent_->WaitForOutput("msg=\"health and metrics can be asked for\"", 30s);

  EXPECT_EQ(health.status, 0) << "nothing that restarts the agent is to depend on it";
  EXPECT_EQ(health.out, "ok, but " + why);
  EXPECT_EQ(status.status, 0);
  EXPECT_THAT(status.out, HasSubstr("ready\n" + why));
  EXPECT_EQ(Ask("/alive"), "200 ok\n");
  EXPECT_EQ(ask("health").out, "ok\n");
  EXPECT_THAT(EndAgent(), HasSubstr("level=error msg=\"the health port cannot be had"));
}

TEST_F(HealthTest, ClientsThatAskSlowlyKeepNobodyElseFromAnAnswer) {
  Process slow({.argv = {"/usr/bin/python3", "-c", kAskSlowly}});
  slow.WaitForOutput("asking");

  EXPECT_EQ(Ask("/alive"), "200 ok\n");
}

TEST_F(HealthTest, ASigtermEndsTheAgentWhileClientsAskSlowly) {
  Process slow({.argv = {"/usr/bin/python3", "-c", kAskSlowly}});
  slow.WaitForOutput("asking");

  agent_->Signal(SIGTERM);

  EXPECT_EQ(agent_->Wait().status, 0);
}

TEST_F(HealthTest, ReadyNamesAMissingBridgeAndRecovers) {
  ovs_->Vsctl({"del-br", "br-int"});

  EXPECT_THAT(Ask("/ready"), AllOf(HasSubstr("500 "), HasSubstr("br-int")));
  EXPECT_EQ(Ask("/alive"), "200 ok\n");

  AddBridge();
  EXPECT_EQ(Ask("/ready"), "200 ok\n");
}

TEST_F(HealthTest, ReadyNamesAMissingOpenVSwitchAndRecovers) {
  ovs_->StopServer();

  EXPECT_THAT(Ask("/ready"), AllOf(HasSubstr("500 "), HasSubstr("db.sock")));

  ovs_->StartServer();
  EXPECT_EQ(AskUntil("/ready", "200"), "200 ok\n");
}

TEST_F(HealthTest, ReadyNamesAMissingApiServerAndRecovers) {
  StopAgent(SIGTERM);
  WriteConfig(DefaultKubernetes() + "watch_retry_timeout = 1\n");
  StartAgent();
  ASSERT_EQ(AskUntil("/ready", "200"), "200 ok\n");
  fake::Options options = {
      .port = api_->port(), .tls = fake::TestTls(), .users = {{.name = "kuryr", .token = kToken}}};
  const std::string url = api_->url();
  api_.reset();

  EXPECT_THAT(AskUntil("/ready", "500"), HasSubstr("the API server at " + url));
  EXPECT_EQ(Ask("/alive"), "200 ok\n");
  EXPECT_GT(Metrics()["kuryr_daemon_watch_failing_seconds resource=pods"], 0);

  api_ = std::make_unique<fake::FakeApiServer>(options);
  EXPECT_EQ(AskUntil("/ready", "200"), "200 ok\n");
  EXPECT_EQ(Metrics()["kuryr_daemon_watch_failing_seconds resource=pods"], 0);
  EXPECT_THAT(EndAgent(), HasSubstr("the pods cannot be watched"));
}

TEST_F(HealthTest, ReadyIsWhoHasListedThePods) {
  StopAgent(SIGTERM);
  api_->Inject({.kind = fake::Fault::Kind::kSilence, .verb = "list", .count = -1});
  StartAgent();

  EXPECT_THAT(Ask("/ready"),
              AllOf(HasSubstr("500 "), HasSubstr("has not listed this node's pods")));
  // It is about to: kubelet may send pods, which wait.
  EXPECT_EQ(Run("STATUS", MakePod("any"), {{"stdin", StatusConfig()}}).out, "");

  api_->ClearFaults();
  api_->StopListening();
  api_->StartListening();
  EXPECT_EQ(AskUntil("/ready", "200"), "200 ok\n");
}

TEST_F(HealthTest, WithoutTheRightToConfigureNetworksItIsNotReady) {
  StopAgent(SIGTERM);
  StartAgent({"setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"});

  EXPECT_EQ(Ask("/ready"), "500 CAP_NET_ADMIN is missing\n");
}

TEST_F(HealthTest, MetricsCountCallsByCommandAndError) {
  const TestPod pod = ActivePod("nginx");
  const TestPod bad = MakePod("bad");
  AnnotateText(bad, R"({"versioned_object.name":"VIFNonsense"})");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  ASSERT_EQ(Run("ADD", bad).status, 1);

  nlohmann::json metrics = Metrics();

  const std::string name = "kuryr_daemon_request_duration_seconds";
  EXPECT_EQ(metrics[name + "_count code=0 command=ADD"], 1) << metrics.dump(1);
  EXPECT_EQ(metrics[name + "_count code=101 command=ADD"], 1);
  EXPECT_EQ(metrics[name + "_bucket code=0 command=ADD le=0.0005"], 0);
  EXPECT_EQ(metrics[name + "_bucket code=0 command=ADD le=60"], 1);
  EXPECT_EQ(metrics[name + "_bucket code=0 command=ADD le=+Inf"], 1);
  EXPECT_GT(metrics[name + "_sum code=0 command=ADD"], 0);
  EXPECT_EQ(metrics["kuryr_daemon_attachments"], 1);
}

TEST_F(HealthTest, MetricsShowRegistryAndWatch) {
  const TestPod pod = ActivePod("nginx");
  const TestPod bad = MakePod("bad");
  AnnotateText(bad, R"({"versioned_object.name":"VIFNonsense"})");
  ASSERT_EQ(Run("ADD", bad).status, 1);

  nlohmann::json metrics = Metrics();

  EXPECT_EQ(metrics["kuryr_daemon_registry_pods"], 2) << metrics.dump(1);
  EXPECT_EQ(metrics["kuryr_daemon_undecodable_objects kind=Pod"], 1);
  EXPECT_EQ(metrics["kuryr_daemon_undecodable_objects kind=KuryrPort"], 0);
  EXPECT_EQ(metrics["kuryr_daemon_requests_limit"], 512);
  EXPECT_EQ(metrics["kuryr_daemon_watch_lists_total resource=pods"], 1);
  EXPECT_GE(metrics["kuryr_daemon_watch_events_total resource=pods type=MODIFIED"], 2);
  EXPECT_EQ(metrics["kuryr_daemon_watch_reconnects_total reason=expired resource=pods"], 0);
  EXPECT_GT(metrics["kuryr_daemon_watch_lag_seconds resource=pods"], 0);
}

TEST_F(HealthTest, AVifWithoutNetworkIsUndecodableToMetricsStatusAndLog) {
  const TestPod pod = MakePod("bad");
  nlohmann::json vif = Vif(pod, true);
  vif["versioned_object.data"].erase("network");
  Annotate(pod, vif);
  const nlohmann::json error = nlohmann::json::parse(Run("ADD", pod).out, nullptr, false);

  const std::string why =
      "Pod default/bad: annotation openstack.org/kuryr-vif, VIF of eth0, $.network: is not set";
  EXPECT_EQ(error.value("code", 0), 101);
  EXPECT_THAT(error.value("details", ""), HasSubstr(why));
  EXPECT_EQ(Metrics()["kuryr_daemon_undecodable_objects kind=Pod"], 1);
  EXPECT_THAT(EndAgent(), HasSubstr("msg=\"undecodable object\" error=\"" + why));
}

TEST_F(HealthTest, MetricsTellTheStagesOfACallWithoutCountingItTwice) {
  const TestPod pod = MakePod("nginx");
  const TestPod bad = MakePod("bad");
  AnnotateText(bad, R"({"versioned_object.name":"VIFNonsense"})");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(add.Wait().status, 0);
  ASSERT_EQ(Run("DEL", pod).status, 0);
  ASSERT_EQ(Run("ADD", bad).status, 1);

  nlohmann::json metrics = Metrics();

  const std::string name = "kuryr_daemon_stage_duration_seconds";
  const auto count = [&](const std::string& command, const std::string& code,
                         const std::string& stage) {
    return metrics[name + "_count code=" + code + " command=" + command + " stage=" + stage];
  };
  double sum = 0;
  for (const std::string stage : {"wait_vif", "plug", "wait_active"}) {
    EXPECT_EQ(count("ADD", "0", stage), 1) << stage << metrics.dump(1);
    sum += metrics[name + "_sum code=0 command=ADD stage=" + stage].get<double>();
  }
  EXPECT_EQ(count("ADD", "101", "wait_vif"), 1);
  EXPECT_EQ(count("ADD", "101", "unplug"), 1);
  EXPECT_EQ(count("DEL", "0", "unplug"), 1);
  EXPECT_EQ(metrics[name + "_bucket code=0 command=ADD le=+Inf stage=plug"], 1);
  EXPECT_GT(metrics[name + "_sum code=0 command=ADD stage=plug"], 0);
  EXPECT_LT(sum, metrics["kuryr_daemon_request_duration_seconds_sum code=0 command=ADD"]);
  EXPECT_EQ(metrics["kuryr_daemon_request_duration_seconds_count code=0 command=ADD"], 1);
}

TEST_F(HealthTest, ACallAtWorkIsCountedUntilItsEnd) {
  const std::string name = "kuryr_daemon_requests_in_progress command=";
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  EXPECT_EQ(Metrics()[name + "ADD"], 0);
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  EXPECT_EQ(Metrics()[name + "ADD"], 1);
  EXPECT_EQ(Metrics()[name + "DEL"], 0);

  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(add.Wait().status, 0);
  EXPECT_EQ(Metrics()[name + "ADD"], 0);
}

TEST(CallMetricsTest, ACallLongAfterItsDeadlineIsStuck) {
  cni::CallMetrics calls;
  {
    cni::CallMetrics::Running add(calls);
    add.SetCommand(cni::Command::kAdd, 60s);

    EXPECT_EQ(calls.WhyStuck(add.begin() + 61s), std::nullopt);
    EXPECT_EQ(calls.WhyStuck(add.begin() + 200s),
              "a call (ADD) is at work 140 s after its deadline");
  }
  EXPECT_EQ(calls.WhyStuck(cni::CallMetrics::Clock::now() + 1h), std::nullopt);
}

TEST(CallMetricsTest, AStageCountsEachTimeUnderTheErrorOfItsCall) {
  cni::CallMetrics calls;
  {
    cni::CallMetrics::Running add(calls);
    add.SetCommand(cni::Command::kAdd, 60s);
    add.OnStage(cni::Stage::kPlug);
    add.OnStage(cni::Stage::kWaitActive);
    add.OnStage(cni::Stage::kPlug);
    add.SetError(cni::ErrorCode::kTryAgainLater);
  }
  service::MetricsText text;
  calls.WriteTo(text);

  const std::string sample = "kuryr_daemon_stage_duration_seconds_count{command=\"ADD\",stage=";
  EXPECT_THAT(text.text(), HasSubstr(sample + "\"plug\",code=\"11\"} 2\n"));
  EXPECT_THAT(text.text(), HasSubstr(sample + "\"wait_active\",code=\"11\"} 1\n"));
  EXPECT_THAT(text.text(), ::testing::Not(HasSubstr("unplug")));
}

TEST(MetricsTextTest, IsThePrometheusTextFormat) {
  service::MetricsText text;
  text.Head("a_total", "counter", "Of a.");
  text.Sample("a_total", {{"le", service::MetricsText::Number(0.0005)}, {"b", "\"\\\n"}}, 12345678);
  text.Metric("c", "gauge", "Of c.", 0.25);

  EXPECT_EQ(text.text(),
            "# HELP a_total Of a.\n# TYPE a_total counter\n"
            "a_total{le=\"0.0005\",b=\"\\\"\\\\\\n\"} 12345678\n"
            "# HELP c Of c.\n# TYPE c gauge\nc 0.25\n");
}

class HealthServerTest : public NetnsTest {
 protected:
  HealthServerTest() {
    std::string pattern = ::testing::TempDir() + "health-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~HealthServerTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

service::HealthChecks AllIsWell() {
  return {.why_not_alive = [] { return std::nullopt; },
          .why_not_ready = [] { return std::nullopt; },
          .metrics = [] { return std::string(size_t{16} << 20, 'x'); }};
}

/// From each of its arguments, more connections than a server holds, which ask and never take the
/// answer. Those that are closed are made anew.
constexpr const char* kFlood = R"(
import contextlib, select, socket, sys

def connect(address):
    made = socket.socket()
    made.bind((address, 0))
    made.connect(('127.0.0.1', 8090))
    with contextlib.suppress(OSError):
        made.sendall(b'GET /metrics HTTP/1.1\r\n\r\n')
    return made

opened = {connection.fileno(): (connection, address) for address in sys.argv[1:]
          for connection in [connect(address) for _ in range(100)]}
poll = select.epoll()
for number in opened:
    poll.register(number, select.EPOLLRDHUP)
print('flooded', flush=True)
while True:
    for number, _ in poll.poll():
        closed, address = opened.pop(number)
        closed.close()
        made = connect(address)
        opened[made.fileno()] = made, address
        poll.register(made.fileno(), select.EPOLLRDHUP)
)";

Process FloodFrom(const std::vector<std::string>& addresses) {
  std::vector<std::string> argv = {"/usr/bin/python3", "-c", kFlood};
  argv.insert(argv.end(), addresses.begin(), addresses.end());
  Process flood({.argv = argv});
  flood.WaitForOutput("flooded", 60s);
  return flood;
}

TEST_F(HealthServerTest, AClientThatFloodsItKeepsNoOtherFromAnAnswer) {
  const service::HealthServer server("127.0.0.1", 8090, AllIsWell());
  const Process flood = FloodFrom({"127.0.0.2"});

  EXPECT_EQ(Ask("/alive"), "200 ok\n");
  EXPECT_EQ(Ask("/ready"), "200 ok\n");
}

TEST_F(HealthServerTest, ItsSocketIsAskedWhileStrangersHoldItsPort) {
  const ProgramOptions program = {.health_port = 8090, .health_socket = folder_ / "socket"};
  const service::Health health(program, AllIsWell());
  std::vector<std::string> strangers;
  for (int number = 2; number < 12; ++number)
    strangers.push_back("127.0.0." + std::to_string(number));
  const Process flood = FloodFrom(strangers);

  const auto answer = service::AskHealth(program, "/alive", 5s);

  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is_well);
  EXPECT_EQ(answer->text, "ok\n");
}

TEST_F(HealthServerTest, ItsSocketIsItsUsersAloneAndReplacesNothingElse) {
  const std::string path = folder_ / "socket";
  {
    const service::HealthServer former(path, 0, {});
  }

  const service::HealthServer server(path, 0, AllIsWell());

  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  std::ofstream(folder_ / "file") << "kept";
  EXPECT_THROW(service::HealthServer(folder_ / "file", 0, {}), std::system_error);
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "file"));
}

TEST_F(HealthServerTest, AProblemIsAnsweredWith500AndItsText) {
  const service::HealthServer server(
      "127.0.0.1", 8090,
      {.why_not_alive = [] { return "a call is stuck"; },
       .why_not_ready = []() -> std::optional<std::string> { throw std::runtime_error("no idea"); },
       .metrics = [] { return ""; }});

  EXPECT_EQ(Ask("/alive"), "500 a call is stuck\n");
  EXPECT_EQ(Ask("/ready"), "500 no idea\n");
}

TEST_F(HealthServerTest, ASecondOneAtItsPortFails) {
  const service::HealthServer server("::1", 8090, {});

  EXPECT_THROW(service::HealthServer("::1", 8090, {}), std::system_error);
}

}  // namespace
}  // namespace kuryr::test
