#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cni/plugin/plugin_fixture.h"
#include "tests/support/kube_api_server.h"
#include "watcher/api_client.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Tests what the API server is told of an ADD. The processes that tell it outlive the plugin, and
/// then become the test's own children.
class PodReporterTest : public PluginTest {
 protected:
  /// In which a busy machine, too, hears of the pod: what is not there in time is its port.
  static constexpr const char* kShortTimeout = "[cni_daemon]\nvif_annotation_timeout = 5\n";

  void SetUp() override {
    PluginTest::SetUp();
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }

  /// Those that a plugin which has ended left behind, living or not yet reaped.
  [[nodiscard]] static std::vector<pid_t> Writers() {
    std::vector<pid_t> writers;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      pid_t pid = 0;
      pid_t parent = 0;
      std::string name;
      std::string state;
      // Programs run as /proc/self/exe are named so.
      if (file >> pid >> name >> state >> parent && name == "(exe)" && parent == ::getpid())
        writers.push_back(pid);
    }
    return writers;
  }
  /// How each of them ended.
  static std::vector<int> WaitForWriters() {
    std::vector<int> statuses;
    for (const pid_t pid : Writers()) {
      int status = 0;
      EXPECT_EQ(::waitpid(pid, &status, 0), pid);
      statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    return statuses;
  }
  [[nodiscard]] std::vector<std::string> Reasons() const {
    std::vector<std::string> reasons;
    for (const json& event : api_->List("events", "default")) reasons.push_back(event["reason"]);
    std::sort(reasons.begin(), reasons.end());
    return reasons;
  }
  TestPod PodWithBadVif() {
    TestPod pod = MakePod("nginx");
    AnnotateText(pod, "{");
    return pod;
  }
};

TEST_F(PodReporterTest, AnAddThatWaitsForThePortSaysSo) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));

  ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events"));

  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(add.Wait().status, 0);
  for (const int status : WaitForWriters()) EXPECT_EQ(status, 0);
  const std::vector<json> events = api_->List("events", "default");
  ASSERT_EQ(events.size(), 1U);
  const json& event = events[0];
  EXPECT_EQ(event["reason"], "CNIWaitingForActiveVIFs");
  EXPECT_EQ(event["type"], "Normal");
  EXPECT_THAT(event["message"], HasSubstr(pod.port_id));
  EXPECT_EQ(event["involvedObject"], (json{{"apiVersion", "v1"},
                                           {"kind", "Pod"},
                                           {"namespace", "default"},
                                           {"name", "nginx"},
                                           {"uid", pod.uid}}));
  EXPECT_EQ(event["reportingComponent"], "kuryr-cni");
  EXPECT_EQ(event["source"]["component"], "kuryr-cni");
  EXPECT_THAT(event["metadata"]["name"], ::testing::StartsWith("nginx."));
}

TEST_F(PodReporterTest, APortThatNeverBecomesActiveIsTwoEvents) {
  WriteConfig(DefaultKubernetes(), kShortTimeout);
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));

  EXPECT_EQ(FailedAdd(pod)["code"], 11);

  WaitForWriters();
  EXPECT_THAT(Reasons(), ElementsAre("CNITimedOutWaitingForActiveVIFs", "CNIWaitingForActiveVIFs"));
}

TEST_F(PodReporterTest, AnAddThatFailsSaysWhy) {
  const TestPod pod = PodWithBadVif();

  EXPECT_EQ(FailedAdd(pod)["code"], 101);

  EXPECT_THAT(WaitForWriters(), ElementsAre(0));
  const std::vector<json> events = api_->List("events", "default");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["reason"], "CNIAddFailed");
  EXPECT_EQ(events[0]["type"], "Warning");
  EXPECT_THAT(events[0]["message"],
              AllOf(HasSubstr("101"), HasSubstr("malformed VIF"), Not(HasSubstr(kToken))));
}

TEST_F(PodReporterTest, AUidThatTheRuntimeLeavesOutIsAskedFor) {
  const TestPod pod = PodWithBadVif();

  FailedAdd(pod, {{"CNI_ARGS", "K8S_POD_NAMESPACE=default;K8S_POD_NAME=nginx"}});

  EXPECT_THAT(WaitForWriters(), ElementsAre(0));
  EXPECT_EQ(api_->List("events").at(0)["involvedObject"]["uid"], pod.uid);
}

TEST_F(PodReporterTest, NobodyWaitsForAnApiServerThatDoesNotTakeTheEvent) {
  const TestPod pod = PodWithBadVif();
  api_->Inject({.kind = fake::Fault::Kind::kSilence, .verb = "create"});

  FailedAdd(pod);

  const std::vector<pid_t> writers = Writers();
  ASSERT_EQ(writers.size(), 1U);
  int status = 0;
  EXPECT_EQ(::waitpid(writers[0], &status, WNOHANG), 0) << "has ended before its plugin";
  EXPECT_NE(::getsid(writers[0]), ::getsid(0));
  // Runtimes wait for the end of these two.
  for (const char* fd : {"/fd/1", "/fd/2"}) {
    EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(writers[0]) + fd),
              "/dev/null");
  }
  EXPECT_THAT(WaitForWriters(), ElementsAre(1));
}

TEST_F(PodReporterTest, WithoutTheRightNothingChangesForThePod) {
  api_->SetUsers({{.name = "kuryr", .token = kToken, .verbs = {"get", "list", "watch"}}});
  WriteConfig(DefaultKubernetes() + "network_status = true\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(Run("ADD", pod).status, 0);

  EXPECT_THAT(WaitForWriters(), ElementsAre(1));
  const TestPod bad = MakePod("bad");
  AnnotateText(bad, "{");
  EXPECT_EQ(json::parse(Run("ADD", bad).out)["code"], 101);
  EXPECT_THAT(WaitForWriters(), ElementsAre(1));
  EXPECT_THAT(Reasons(), IsEmpty());
}

TEST_F(PodReporterTest, WhatTellsLaterLogsUnderTheTraceIdOfItsCall) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::filesystem::path log = work_ / "kuryr.log";
  WriteConfig(DefaultKubernetes(), "[DEFAULT]\ndebug = True\nlog_file = " + log.string() + "\n");
  api_->SetUsers({{.name = "kuryr", .token = kToken, .verbs = {"get", "list", "watch"}}});

  FailedAdd(PodWithBadVif(), {{"TRACEPARENT", "00-" + id + "-00f067aa0ba902b7-01"}});

  EXPECT_THAT(WaitForWriters(), ElementsAre(1));
  std::string last;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) last = line;
  EXPECT_THAT(last, AllOf(HasSubstr("not told"), ::testing::EndsWith(" trace_id=" + id)));
}

TEST_F(PodReporterTest, NothingIsStartedWhereThereIsNothingToTell) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  EXPECT_THAT(Writers(), IsEmpty());

  WriteConfig(DefaultKubernetes() + "use_events = false\n", kShortTimeout);
  Annotate(pod, Vif(pod, false));
  EXPECT_EQ(FailedAdd(pod)["code"], 11);
  EXPECT_THAT(Writers(), IsEmpty());

  // No user looks for the Events of a pod that is gone.
  WriteConfig(DefaultKubernetes());
  api_->Delete("pods", "default", "nginx");
  MakePod("nginx");
  EXPECT_EQ(FailedAdd(pod)["code"], 3);
  EXPECT_THAT(Writers(), IsEmpty());
}

TEST_F(PodReporterTest, EveryNetworkOfAPodIsToldWhereThatIsWanted) {
  WriteConfig(DefaultKubernetes() + "network_status = true\n");
  const TestPod pod = MakePod("nginx");
  const TestPod second = MakePod("other");
  json other = Vif(second, true);
  other["versioned_object.data"]["network"]["versioned_object.data"]["label"] = "storage";
  AnnotateText(pod, json{{"eth0", Vif(pod, true)}, {"net1", other}}.dump());

  ASSERT_EQ(Run("ADD", pod).status, 0);

  EXPECT_THAT(WaitForWriters(), ElementsAre(0));
  const json annotations = api_->Get("pods", "default", "nginx")->at("metadata").at("annotations");
  EXPECT_TRUE(annotations.contains("openstack.org/kuryr-vif"));
  const json status =
      json::parse(annotations.at("k8s.v1.cni.cncf.io/network-status").get<std::string>());
  ASSERT_EQ(status.size(), 2U);
  json first = status[0];
  first.erase("dns");
  EXPECT_EQ(first, (json{{"name", "kuryr"},
                         {"interface", "eth0"},
                         {"ips", {pod.ip, pod.ip6}},
                         {"mac", pod.mac},
                         {"mtu", 1500},
                         {"default", true}}));
  EXPECT_EQ(status[1]["name"], "storage");
  EXPECT_EQ(status[1]["interface"], "net1");
  EXPECT_EQ(status[1]["mac"], second.mac);
  EXPECT_FALSE(status[1].contains("default"));
}

TEST_F(PodReporterTest, TheAgentTellsOfItsAddsByItself) {
  WriteConfig(DefaultKubernetes() + "network_status = true\n", kShortTimeout);
  StartAgent();
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));

  EXPECT_EQ(FailedAdd(pod)["code"], 11);
  Annotate(pod, Vif(pod, true));
  EXPECT_EQ(Run("ADD", pod).status, 0);

  EXPECT_THAT(Writers(), IsEmpty());
  ASSERT_TRUE(api_->WaitForRequest("patch", "/api/v1/namespaces/default/pods/nginx"));
  // It comes after the two events of the ADD before, on the same connection.
  EXPECT_THAT(Reasons(), ElementsAre("CNITimedOutWaitingForActiveVIFs", "CNIWaitingForActiveVIFs"));
  EXPECT_EQ(api_->List("events")[0]["source"]["host"], "node1");
}

TEST_F(PodReporterTest, ARealApiServerTakesBoth) {
  if (const auto reason = KubeApiServer::Unavailable()) GTEST_SKIP() << *reason;
  const KubeApiServer server(work_);
  watcher::ApiClient client({.api_root = server.url(),
                             .ca = {.file = server.ca_file()},
                             .token = {.file = server.token_file()}});
  WriteConfig("api_root = " + server.url() + "\nssl_ca_crt_file = " + server.ca_file() +
              "\ntoken_file = " + server.token_file() + "\nnetwork_status = true\n");
  TestPod pod = MakePod("nginx");
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto annotate = [&](const json& vif) {
    client.Patch(pods + "/nginx", watcher::PatchType::kMerge,
                 {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", vif.dump()}}}}}});
  };
  pod.uid = client
                .Post(pods, {{"apiVersion", "v1"},
                             {"kind", "Pod"},
                             {"metadata", {{"name", "nginx"}}},
                             {"spec", {{"containers", {{{"name", "c"}, {"image", "none"}}}}}}})
                .at("metadata")
                .at("uid");
  annotate(Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);
  annotate(Vif(pod, true));

  ASSERT_EQ(add.Wait().status, 0);

  EXPECT_THAT(WaitForWriters(), ::testing::Each(0));
  const json events =
      client.Get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid%3D" + pod.uid);
  ASSERT_EQ(events.at("items").size(), 1U);
  EXPECT_EQ(events["items"][0]["reason"], "CNIWaitingForActiveVIFs");
  const json annotations = client.Get(pods + "/nginx").at("metadata").at("annotations");
  EXPECT_THAT(annotations.at("k8s.v1.cni.cncf.io/network-status").get<std::string>(),
              HasSubstr(pod.ip));
}

}  // namespace
}  // namespace kuryr::test
