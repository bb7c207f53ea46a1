#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cni/protocol/agent_call.h"
#include "cni/protocol/agent_socket.h"
#include "tests/cni/agent/agent_fixture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(AgentTest, AnAddIsAnsweredFromTheRegistryWithoutAnyRequest) {
  const TestPod pod = ActivePod("nginx");
  const TestPod first = ActivePod("first");
  ASSERT_EQ(Run("ADD", first).status, 0);
  const size_t requests = api_->Requests().size();

  const json printed = Answer(Run("ADD", pod));

  EXPECT_EQ(printed["interfaces"][1]["sandbox"], pod.netns);
  EXPECT_EQ(printed["ips"][0]["address"], pod.ip + "/16");
  EXPECT_THAT(api_->Requests(), SizeIs(requests));
  EXPECT_THAT(Ports(), SizeIs(2));
}

TEST_F(AgentTest, AnAddWaitsForItsVifAndForItToBecomeActive) {
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  Annotate(pod, Vif(pod, false));
  WaitUntilPlugged(pod);
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(AgentTest, DEL_03_DelAndItsRepetitionsLeaveNothing) {
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);

  EXPECT_EQ(Run("DEL", pod).status, 0);
  EXPECT_EQ(Run("DEL", pod, {{"CNI_NETNS", ""}}).status, 0);

  ExpectNothingLeft();
}

TEST_F(AgentTest, CON_05_ADelEndsItsRunningAdd) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  EXPECT_EQ(Run("DEL", pod).status, 0);

  const ProcessResult ended = add.Wait();
  EXPECT_EQ(json::parse(ended.out)["code"], 11);
  ExpectNothingLeft();
}

TEST_F(AgentTest, AnAddWhosePluginWasKilledIsUndone) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  {
    Process add(Call("ADD", pod));
    WaitUntilPlugged(pod);
    add.Signal(SIGKILL);
  }

  agent_->WaitForOutput("msg=call command=ADD");

  ExpectNothingLeft();
}

TEST_F(AgentTest, ERR_05_AStoppedAddIsAnsweredWhenItIsUndone) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  add.Signal(SIGTERM);

  EXPECT_EQ(json::parse(add.Wait().out)["code"], 11);
  ExpectNothingLeft();
}

TEST_F(AgentTest, ADD_16_ADeletedPodsAddEndsAtOnceWithCode3) {
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  Annotate(pod, Vif(pod, false));
  WaitUntilPlugged(pod);
  api_->Delete("pods", "default", "nginx");

  EXPECT_EQ(json::parse(add.Wait().out)["code"], 3);
  ExpectNothingLeft();
  EXPECT_THAT(EndAgent(), ContainsRegex("level=info msg=call command=ADD .* pod=default/nginx "))
      << "nobody's fault";
}

TEST_F(AgentTest, AnAddThatBeginsAfterItsPodIsGoneEndsWithCode3) {
  const TestPod pod = GonePod("nginx");

  const json error = json::parse(Run("ADD", pod).out);

  EXPECT_EQ(error["code"], 3) << error;
  EXPECT_THAT(std::string(error["details"]), HasSubstr(pod.uid));
  ExpectNothingLeft();
}

TEST_F(AgentTest, AStaticPodsAddWaitsForTheMirror) {
  TestPod pod = GonePod("etcd-node1");
  pod.uid = kStaticUid;
  Process add(Call("ADD", pod));
  // The later ones of a pod that is gone are answered, one after the other.
  const TestPod gone = GonePod("gone");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(json::parse(Run("ADD", gone).out)["code"], 3);

  MakeMirrorOf(pod);

  const ProcessResult result = add.Wait();
  EXPECT_EQ(result.status, 0) << result.out;
}

TEST_F(AgentTest, AnAddWhosePodTheWatchHasNotToldOfWaitsForIt) {
  FreezeWatches();
  const TestPod pod = ActivePod("nginx");
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForRequest("get", "/api/v1/namespaces/default/pods/nginx"));

  ThawWatches();

  const ProcessResult result = add.Wait();
  EXPECT_EQ(result.status, 0) << result.out;
}

TEST_F(AgentTest, WhereTheApiServerCannotSayThatThePodIsGoneItIsAwaited) {
  StopAgent(SIGTERM);
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 2\n");
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  const TestPod pod = GonePod("nginx");
  api_->Inject({.verb = "get",
                .path_prefix = "/api/v1/namespaces/default/pods/nginx",
                .count = -1,
                .answer = {.status = 503, .body = "{}"}});

  EXPECT_EQ(json::parse(Run("ADD", pod).out)["code"], 11);
}

TEST_F(AgentTest, OneUndecodableObjectAmongManyHarmsOnlyItsOwnPod) {
  const TestPod bad = MakePod("bad");
  AnnotateText(bad, R"({"versioned_object.name":"VIFNonsense"})");
  const TestPod good = ActivePod("good");

  EXPECT_EQ(json::parse(Run("ADD", bad).out)["code"], 101);
  EXPECT_EQ(Run("ADD", good).status, 0);
}

TEST_F(AgentTest, DEL_16_WithTheApiServerGoneKnownPodsAreServed) {
  const TestPod known = ActivePod("known");
  const TestPod other = ActivePod("other");
  ASSERT_EQ(Run("ADD", other).status, 0);
  api_.reset();

  EXPECT_EQ(Run("ADD", known).status, 0);
  EXPECT_EQ(Run("DEL", known).status, 0);
  EXPECT_EQ(Run("DEL", other).status, 0);

  ExpectNothingLeft();
}

TEST_F(AgentTest, AKilledAgentsAddIsUndoneByTheNextAgent) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nagent_wait = 0\n");
  const TestPod pod = MakePod("nginx");
  const TestPod running = ActivePod("running");
  ASSERT_EQ(Run("ADD", running).status, 0);
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  StopAgent(SIGKILL);

  EXPECT_EQ(json::parse(add.Wait().out)["code"], 11);
  EXPECT_THAT(Ports(), SizeIs(2));
  StartAgent();
  EXPECT_EQ(Ports(), std::vector<std::string>{running.tap});
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(AgentTest, WhatAnAgentCannotSeeOfItsNodesMountsStays) {
  const TestPod running = ActivePod("running");
  ASSERT_EQ(Run("ADD", running).status, 0);
  StopAgent(SIGKILL);
  StartAgent({"unshare", "--mount", "--propagation", "private", "sh", "-c",
              "umount -l " + running.netns + "; exec \"$@\"", "sh"});
  ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  EXPECT_EQ(Ports(), std::vector<std::string>{running.tap});

  const TestPod unseen = ActivePod("unseen");
  EXPECT_EQ(Run("ADD", unseen).status, 0);
  EXPECT_THAT(Ports(), SizeIs(2));
  EXPECT_EQ(Run("DEL", unseen).status, 0);
  EXPECT_EQ(Run("DEL", running).status, 0);
  ExpectNothingLeft();
}

TEST_F(AgentTest, ThePluginNeedsNoIdentityOfItsOwn) {
  const TestPod pod = ActivePod("nginx");
  std::filesystem::remove(work_ / "token");

  EXPECT_EQ(Run("ADD", pod).status, 0);
}

TEST_F(AgentTest, DEL_17_WithTheAgentDownADelIsDoneByThePlugin) {
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  StopAgent(SIGKILL);

  EXPECT_EQ(Run("DEL", pod).status, 0);

  ExpectNothingLeft();
}

TEST_F(AgentTest, STA_05_WithTheAgentDownAddIsCode11AndStatusCode50) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nagent_wait = 0\n");
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", ActivePod("first")).status, 0);
  EXPECT_EQ(Run("STATUS", pod, {{"stdin", StatusConfig()}}).out, "");
  StopAgent(SIGKILL);

  EXPECT_EQ(json::parse(Run("ADD", pod).out)["code"], 11);
  EXPECT_EQ(json::parse(Run("STATUS", pod, {{"stdin", StatusConfig()}}).out)["code"], 50);
}

TEST_F(AgentTest, STA_10_AnAgentThatKnowsNoPodsYetIsNotReady) {
  StopAgent(SIGTERM);
  api_->StopListening();
  AddBridge();
  StartAgent();
  agent_->WaitForOutput("the pods cannot be watched");

  const ProcessResult status = Run("STATUS", MakePod("any"), {{"stdin", StatusConfig()}});

  EXPECT_EQ(json::parse(status.out)["code"], 50) << status.out;
  EXPECT_THAT(status.out, HasSubstr("has not listed this node's pods yet"));
}

TEST_F(AgentTest, WhereTheWatchIsBehindAPodOfTheSameNameIsWaitedFor) {
  const TestPod older = ActivePod("web-0");
  ASSERT_EQ(Run("ADD", older).status, 0);
  FreezeWatches();
  api_->Delete("pods", "default", "web-0");
  const TestPod pod = ActivePod("web-0");

  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForRequest("get", "/api/v1/namespaces/default/pods/web-0"));
  ThawWatches();

  const ProcessResult result = add.Wait();
  EXPECT_EQ(Answer(result)["ips"][0]["address"], pod.ip + "/16");
}

TEST_F(AgentTest, WhereTheWatchIsBehindNoPodGetsWhatItsNamesakeHad) {
  const TestPod older = ActivePod("web-0");
  ASSERT_EQ(Run("ADD", older).status, 0);
  FreezeWatches();
  api_->Delete("pods", "default", "web-0");
  const TestPod pod = ActivePod("web-0");

  Process add(Call("ADD", pod, {{"CNI_ARGS", "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0"}}));
  ASSERT_TRUE(api_->WaitForRequest("get", "/api/v1/namespaces/default/pods/web-0"));
  ThawWatches();

  const ProcessResult result = add.Wait();
  EXPECT_EQ(Answer(result)["ips"][0]["address"], pod.ip + "/16");
}

TEST_F(AgentTest, WhereTheWatchIsBehindAPodIsNotReplacedByOneThatIsGone) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 3\n");
  StopAgent(SIGTERM);
  StartAgent();
  const TestPod older = ActivePod("web-0");
  ASSERT_EQ(Run("ADD", older).status, 0);
  FreezeWatches();
  api_->Delete("pods", "default", "web-0");
  const TestPod pod = MakePod("web-0");
  api_->Delete("pods", "default", "web-0");

  const ProcessResult result = Run("ADD", pod);

  EXPECT_THAT(result.out, HasSubstr("pod default/web-0 is gone"));
}

TEST_F(AgentTest, WhatADelegateGaveIsReturnedByThePluginAlsoWhenItsNetworkHasNoneAnyMore) {
  const std::filesystem::path addresses = work_ / "addresses" / "kuryr";
  const json network = {{"cniVersion", "0.3.1"},
                        {"name", "kuryr"},
                        {"type", "kuryr-cni"},
                        {"kuryr_conf", (work_ / "kuryr.conf").string()},
                        {"kuryr", {{"bridge", "cbr0"}}},
                        {"ipam",
                         {{"type", "host-local"},
                          {"dataDir", addresses.parent_path().string()},
                          {"ranges", json::array({json::array({{{"subnet", "10.99.0.0/24"}}})})}}}};
  const TestPod pod = MakePod("nginx");
  ASSERT_EQ(Run("ADD", pod, {{"stdin", network.dump()}, {"CNI_PATH", "/usr/lib/cni"}}).status, 0);
  ASSERT_TRUE(std::filesystem::exists(addresses / "10.99.0.2"));

  EXPECT_EQ(Run("DEL", pod, {{"CNI_PATH", "/usr/lib/cni"}}).status, 0);

  EXPECT_FALSE(std::filesystem::exists(addresses / "10.99.0.2"));
  EXPECT_THAT(Records(), SizeIs(0));
  // Where it runs, it may have no delegates.
  ASSERT_EQ(Run("ADD", ActivePod("another")).status, 0);
  const std::string log = EndAgent();
  EXPECT_THAT(log, HasSubstr("command=ADD"));
  EXPECT_THAT(log, Not(HasSubstr("command=DEL")));
}

/// Whom it hears, also where its file lets everybody in.
void ExpectForRootAlone(const std::filesystem::path& path) {
  SCOPED_TRACE(path);
  struct stat file = {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
  std::filesystem::permissions(path, std::filesystem::perms(0777));
  const std::string ask =
      "import socket\n"
      "s = socket.socket(socket.AF_UNIX); s.connect('" +
      path.string() +
      "')\n"
      "try:\n"
      "  s.sendall(b'\\0\\0\\0\\2{}'); heard = len(s.recv(100)) > 0\n"
      "except ConnectionError:\n"
      "  heard = False\n"
      "print('heard' if heard else 'refused')";
  const auto answer_to = [&](std::vector<std::string> who) {
    for (const std::string& word : {std::string("/usr/bin/python3"), std::string("-c"), ask})
      who.push_back(word);
    const ProcessResult result = RunProgram({.argv = std::move(who)});
    return result.out + result.err;
  };

  EXPECT_EQ(answer_to({"setpriv", "--reuid=65534", "--clear-groups"}), "refused\n");
  EXPECT_EQ(answer_to({"setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=+sys_admin",
                       "--ambient-caps=+sys_admin"}),
            "refused\n")
      << "not root's";
  EXPECT_EQ(answer_to({"unshare", "--user", "--map-root-user"}), "refused\n");
  // A container's root, as runtimes make one.
  EXPECT_EQ(answer_to({"setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"}),
            "refused\n");
  EXPECT_EQ(answer_to({}), "heard\n");
}

TEST_F(AgentTest, TheSocketIsForRootAlone) { ExpectForRootAlone(agent_socket()); }

TEST_F(AgentTest, TheStatusSocketIsForRootAlone) { ExpectForRootAlone(status_socket()); }

TEST_F(AgentTest, CallsAndQueriesHaveSocketsOfTheirOwn) {
  const auto answer = [](const std::filesystem::path& path, const std::string& query) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(10));
    const UniqueFd socket = cni::ConnectTo(path, deadline);
    cni::AgentCall call;
    call.query = query;
    cni::SendCall(socket.get(), call, deadline);
    return cni::ReceiveReply(socket.get(), deadline).out;
  };

  EXPECT_EQ(answer(status_socket(), "alive"), "ok");
  EXPECT_EQ(answer(agent_socket(), "alive"), "questions go to " + status_socket().string());
  EXPECT_EQ(answer(status_socket(), ""), "there is no query \"\"");
}

TEST_F(AgentTest, GarbageOnTheSocketHarmsNobody) {
  const std::string send =
      "import socket,sys\n"
      "for data in [b'', b'\\0', b'\\xff\\xff\\xff\\xff', b'\\0\\0\\0\\4[[[[', b'\\0\\0\\0\\2[]', "
      "b'x' * 100000]:\n"
      "  s = socket.socket(socket.AF_UNIX); s.connect('" +
      agent_socket().string() +
      "')\n"
      "  try:\n    s.sendall(data); s.shutdown(socket.SHUT_WR); s.recv(1000)\n"
      "  except OSError: pass\n";
  EXPECT_EQ(RunProgram({.argv = {"python3", "-c", send}}).status, 0);

  EXPECT_EQ(Run("ADD", ActivePod("nginx")).status, 0);
}

TEST_F(AgentTest, ASigtermAnswersWhatRunsAndTakesNoMore) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  agent_->Signal(SIGTERM);
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(add.Wait().status, 0);
  EXPECT_EQ(agent_->Wait().status, 0);
}

}  // namespace
}  // namespace kuryr::test
