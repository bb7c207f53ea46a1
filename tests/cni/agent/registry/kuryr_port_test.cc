#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cni/agent/kuryr_port_fixture.h"
#include "tests/support/kube_api_server.h"
#include "tests/support/paths.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"

// Pods whose VIFs a KuryrPort has, as kuryr-kubernetes 3.0 and later plan them.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(KuryrPortTest, AnAddAsksForItOnceByItsName) {
  const TestPod pod = MakePod("nginx");
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  LetTheAgentKnow();
  const size_t before = api_->Requests().size();

  const json printed = Answer(Run("ADD", pod));

  EXPECT_EQ(printed["ips"][0]["address"], pod.ip + "/16");
  const auto requests = api_->Requests();
  ASSERT_EQ(requests.size(), before + 1);
  EXPECT_EQ(requests.back().verb, "list");
  EXPECT_THAT(requests.back().target,
              HasSubstr("/namespaces/default/kuryrports?fieldSelector=metadata.name%3Dnginx"));
  EXPECT_THAT(PortFact(pod, "iface-id"), HasSubstr(pod.port_id));
  EXPECT_THAT(PortFact(pod, "vm-uuid"), HasSubstr(pod.uid));
  EXPECT_THAT(AddressesIn(pod), HasSubstr(pod.ip + "/16"));
}

TEST_F(KuryrPortTest, AnAddWaitsForItForItsVifsAndForThemToBecomeActive) {
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  api_->Create(PortOf(pod, json::object()));
  PlanVifs(pod, Vifs(Vif(pod, false)));
  WaitUntilPlugged(pod);
  PlanVifs(pod, Vifs(Vif(pod, true)));

  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(KuryrPortTest, WhatChangedAfterAnAddCountsForTheNext) {
  const TestPod pod = MakePod("nginx");
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  ASSERT_EQ(Run("DEL", pod).status, 0);
  PlanVifs(pod, Vifs(WithOtherName(Vif(pod, true))));

  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>{"tapother"});
}

TEST_F(KuryrPortTest, AnAgentThatHasJustStartedTellsWhatWasPlugged) {
  const TestPod pod = MakePod("nginx");
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  RestartAgent("");

  EXPECT_THAT(Status().out, HasSubstr(pod.ip));
}

TEST_F(KuryrPortTest, ThePodsAnnotationWins) {
  const TestPod pod = ActivePod("nginx");
  api_->Create(PortOf(pod, Vifs(WithOtherName(Vif(pod, true)))));
  LetTheAgentKnow();

  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(KuryrPortTest, WhereKuryrPortsAloneCountTheAnnotationIsPassedOver) {
  StopAgent(SIGTERM);
  WriteConfig(DefaultKubernetes() + "vif_source = kuryrport\n");
  StartAgent();
  const TestPod pod = MakePod("nginx");
  Annotate(pod, WithOtherName(Vif(pod, true)));
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));

  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(KuryrPortTest, ARecreatedPodDoesNotGetTheVifsOfItsPredecessor) {
  RestartAgent("[cni_daemon]\nvif_annotation_timeout = 1\n");
  const TestPod old = MakePod("nginx");
  api_->Create(PortOf(old, Vifs(Vif(old, true))));
  api_->Delete("pods", "default", "nginx");
  const TestPod pod = MakePod("nginx");
  LetTheAgentKnow();

  json error = FailedAdd(pod);
  DeletePort("nginx");
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  LetTheAgentKnow();

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"].get<std::string>(), HasSubstr("default/nginx, or its KuryrPort"));
  EXPECT_EQ(Answer(Run("ADD", pod))["ips"][0]["address"], pod.ip + "/16");
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(KuryrPortTest, OneThatIsBeingDeletedKeepsWhatIsAttachedAndBeginsNothing) {
  RestartAgent("[cni_daemon]\nvif_annotation_timeout = 1\n");
  const TestPod pod = MakePod("nginx");
  const TestPod late = MakePod("late");
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  api_->Create(PortOf(late, Vifs(Vif(late, true))));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  for (const char* name : {"nginx", "late"}) api_->Delete("kuryrports", "default", name);
  LetTheAgentKnow();

  EXPECT_EQ(json::parse(Run("ADD", late).out)["code"], 11);
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
  EXPECT_THAT(AddressesIn(pod), HasSubstr(pod.ip + "/16"));

  EXPECT_EQ(Run("DEL", pod).status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>());
}

TEST_F(KuryrPortTest, AnUndecodableOneIsNamedEverywhereAndLoggedOncePerAdd) {
  const TestPod bad = MakePod("bad");
  const TestPod good = MakePod("good");
  const json vifs = Vifs({{"versioned_object.name", "VIFNonsense"}});
  api_->Create(PortOf(bad, vifs));
  api_->Create(PortOf(good, Vifs(Vif(good, true))));
  api_->Patch("pods", "default", "bad", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  api_->Patch("kuryrports", "default", "bad", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  EXPECT_EQ(Run("ADD", good).status, 0);
  LetTheAgentKnow();

  json error = json::parse(Run("ADD", bad).out);
  const std::string status = Status().out;
  const std::string metrics =
      RunProgram({.argv = {"curl", "--silent", "http://127.0.0.1:8090/metrics"}}).out;
  PlanVifs(bad, "none");
  EXPECT_EQ(Run("ADD", bad).status, 1);
  const std::string log = EndAgent();

  EXPECT_EQ(error["code"], 101);
  EXPECT_THAT(error["details"].get<std::string>(),
              HasSubstr("KuryrPort default/bad: $.status.vifs.eth0.vif"));
  EXPECT_THAT(status, HasSubstr("KuryrPort default/bad: $.status.vifs.eth0.vif"));
  EXPECT_THAT(metrics, HasSubstr("kuryr_daemon_undecodable_objects{kind=\"KuryrPort\"} 1\n"));
  const std::string line =
      "msg=\"undecodable object\" error=\"KuryrPort default/bad: $.status.vifs";
  EXPECT_EQ(Count(log, line + ".eth0.vif"), 1U) << log;
  EXPECT_EQ(Count(log, line + ": "), 1U) << log;
}

TEST_F(KuryrPortTest, AServerThatRefusesTheirWatchesIsNamedByLogMetricAndAdd) {
  RestartAgent("[cni_daemon]\nvif_annotation_timeout = 1\n");
  fake::Fault refusal = fake::Fault::Status(500, "no watch today");
  refusal.verb = "watch";
  refusal.path_prefix = "/apis/openstack.org";
  refusal.count = -1;
  api_->Inject(refusal);

  const json error = FailedAdd(MakePod("nginx"));
  const std::string metrics = Metrics();

  EXPECT_THAT(error["details"].get<std::string>(), HasSubstr("no watch today"));
  EXPECT_THAT(EndAgent(), HasSubstr("no watch today"));
  EXPECT_THAT(metrics, Not(HasSubstr("kuryr_daemon_kuryrport_watch_failures_total 0")));
}

/// kuryr-cni without kuryr-daemon.
class KuryrPortAloneTest : public PluginTest {};

TEST_F(KuryrPortAloneTest, APodWithoutAnnotationIsServedByItsKuryrPort) {
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForWatches(2));
  api_->Create(PortOf(pod, Vifs(Vif(pod, false))));
  WaitUntilPlugged(pod);
  api_->Patch("kuryrports", "default", "nginx", {{"status", {{"vifs", Vifs(Vif(pod, true))}}}});

  const ProcessResult result = add.Wait();
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(json::parse(result.out)["ips"][0]["address"], pod.ip + "/16");
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(KuryrPortAloneTest, AServerWhoseCacheLagsIsReadAndWatchedFromThere) {
  for (const char* path : {"/api/v1", "/apis/openstack.org"})
    api_->Inject(fake::Fault::Lagging(path, -1));
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForWatches(2));
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));

  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(KuryrPortAloneTest, APodWithAnAnnotationNeedsNoKuryrPorts) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(Run("ADD", pod).status, 0);
  for (const auto& request : api_->Requests())
    EXPECT_NE(request.path.find("/pods"), request.path.npos);
}

TEST_F(KuryrPortAloneTest, WhereKuryrPortsAloneCountTheAnnotationIsPassedOver) {
  WriteConfig(DefaultKubernetes() + "vif_source = kuryrport\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, WithOtherName(Vif(pod, true)));
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));

  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(KuryrPortAloneTest, WithoutTheRightToReadThemAnAnnotationIsStillAwaited) {
  api_->SetUsers({{.name = "kuryr", .token = kToken, .verbs = {"watch:pods", "create:events"}}});
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForRequest("list", "/apis/openstack.org", 2));
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(add.Wait().status, 0);
}

/// A real kube-apiserver, and etc/kubernetes/base/kuryrport/kuryrport.yaml.
class KubeKuryrPortTest : public KuryrPortTest {
 protected:
  void SetUp() override {
    if (const auto reason = KubeApiServer::Unavailable()) GTEST_SKIP() << *reason;
    PluginTest::SetUp();
    api_.reset();
    server_ = std::make_unique<KubeApiServer>();
    client_ = std::make_unique<watcher::ApiClient>(
        watcher::ApiConfig{.api_root = server_->url(),
                           .ca = {.file = server_->ca_file()},
                           .token = {.file = server_->token_file()}});
    Restart();
  }
  void TearDown() override {
    if (!server_) return;
    agent_.reset();
    server_.reset();
    KuryrPortTest::TearDown();
  }
  void Restart(const std::string& config = {}) {
    agent_.reset();
    WriteConfig("api_root = " + server_->url() + "\nssl_ca_crt_file = " + server_->ca_file() +
                    "\ntoken_file = " + server_->token_file() + "\n",
                config);
    StartAgent();
  }
  [[nodiscard]] std::string Ask(const std::vector<std::string>& arguments,
                                const std::string& path) const {
    std::vector<std::string> argv = {"curl",
                                     "--silent",
                                     "--fail-with-body",
                                     "--cacert",
                                     server_->ca_file(),
                                     "--cert",
                                     server_->client_cert_file(),
                                     "--key",
                                     server_->client_key_file()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    argv.push_back(server_->url() + path);
    const ProcessResult result = RunProgram({.argv = argv});
    EXPECT_EQ(result.status, 0) << result.out;
    return result.out;
  }
  [[nodiscard]] bool IsThere(const std::string& path) {
    try {
      (void)client_->Get(path);
      return true;
    } catch (const watcher::ApiError& e) {
      EXPECT_EQ(e.code(), 404) << e.what();
      return false;
    }
  }
  /// Ends when the API server has them.
  void Define() {
    (void)Ask({"--header", "Content-Type: application/yaml", "--data-binary",
               "@" + test::SourceDir() + "/etc/kubernetes/base/kuryrport/kuryrport.yaml"},
              kDefinitions);
    while (!IsThere(kDefaultPorts) && !HasFailure()) {
    }
  }
  /// Ends when they are gone.
  void Undefine() {
    const std::string definition = std::string(kDefinitions) + "/kuryrports.openstack.org";
    client_->Delete(definition);
    while (IsThere(definition) && !HasFailure()) {
    }
  }
  /// As MakePod; none of the fake API server's is used.
  TestPod MakeKubePod(const std::string& name) {
    TestPod pod;
    const std::string number = std::to_string(++pods_made_);
    pod.name = name;
    pod.uid = client_
                  ->Post("/api/v1/namespaces/default/pods",
                         {{"apiVersion", "v1"},
                          {"kind", "Pod"},
                          {"metadata", {{"name", name}}},
                          {"spec",
                           {{"nodeName", "node1"},
                            {"terminationGracePeriodSeconds", 0},
                            {"containers", {{{"name", "c"}, {"image", "none"}}}}}}})
                  .at("metadata")
                  .at("uid");
    pod.container_id = std::string(63, 'c') + number;
    pod.netns = MakePodNetnsPath();
    pod.port_id = "000" + number + "4e00-fc3e-4f2d-8d9c-1e0c2a7f5b11";
    pod.tap = "tap" + pod.port_id.substr(0, 11);
    pod.mac = "fa:16:3e:29:00:0" + number;
    pod.ip = "10.10.1." + number;
    pod.ip6 = "fd00:10::a" + number;
    return pod;
  }
  void CreatePort(const TestPod& pod) {
    json port = PortOf(pod, json::object());
    port["metadata"].erase("finalizers");
    client_->Post(kDefaultPorts, port);
  }
  /// As kuryr-kubernetes does.
  void Plan(const TestPod& pod, bool active) {
    client_->Patch(
        std::string(kDefaultPorts) + "/" + pod.name, watcher::PatchType::kJson,
        {{{"op", "replace"}, {"path", "/status/vifs"}, {"value", Vifs(Vif(pod, active))}}});
  }

  static constexpr const char* kDefinitions =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  static constexpr const char* kDefaultPorts =
      "/apis/openstack.org/v1/namespaces/default/kuryrports";
  std::unique_ptr<KubeApiServer> server_;
  std::unique_ptr<watcher::ApiClient> client_;
};

TEST_F(KubeKuryrPortTest, FromItsDefinitionToItsEnd) {
  const TestPod old = MakeKubePod("nginx");
  Process first(Call("ADD", old));
  Define();
  CreatePort(old);
  Plan(old, false);
  WaitUntilPlugged(old);
  Plan(old, true);
  EXPECT_EQ(Answer(first.Wait())["ips"][0]["address"], old.ip + "/16");
  EXPECT_THAT(PortFact(old, "iface-id"), HasSubstr(old.port_id));
  const json table = json::parse(
      Ask({"--header", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"}, kDefaultPorts));
  const json& cells = table["rows"][0]["cells"];
  EXPECT_THAT((std::vector<json>(cells.begin(), cells.begin() + 4)),
              ::testing::ElementsAre("nginx", "node1", old.ip, true));

  // The pod is made anew; its KuryrPort is not, at first.
  EXPECT_EQ(Run("DEL", old).status, 0);
  client_->Delete("/api/v1/namespaces/default/pods/nginx");
  const TestPod pod = MakeKubePod("nginx");
  Restart("[cni_daemon]\nvif_annotation_timeout = 1\n");
  EXPECT_EQ(FailedAdd(pod)["code"], 11);
  Restart();
  Process second(Call("ADD", pod));
  client_->Delete(std::string(kDefaultPorts) + "/nginx");
  CreatePort(pod);
  Plan(pod, true);
  EXPECT_EQ(Answer(second.Wait())["ips"][0]["address"], pod.ip + "/16");
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});

  // With the definition all KuryrPorts go; what is attached stays.
  Undefine();
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
  Define();
  const TestPod later = MakeKubePod("later");
  CreatePort(later);
  Plan(later, true);
  EXPECT_EQ(Run("ADD", later).status, 0);
}

}  // namespace
}  // namespace kuryr::test
