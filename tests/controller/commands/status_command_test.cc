#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "controller/owners/pod_facts.h"
#include "service/health_server.h"
#include "tests/binding/node/node_vif.h"
#include "tests/controller/commands/commands_fixture.h"
#include "tests/support/paths.h"

// kuryr-controller status.

namespace kuryr::test {
namespace {

using controller::SinkKind;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class StatusCommandTest : public CommandsTest {
 protected:
  using CommandsTest::CommandsTest;

  /// Creates an Event on pod a; `uid` is the UID in it.
  void CreateEvent(const json& uid, const std::string& source, const std::string& reason,
                   const std::string& message) {
    api().Create({{"kind", "Event"},
                  {"apiVersion", "v1"},
                  {"metadata", {{"name", source}, {"namespace", "default"}}},
                  {"involvedObject",
                   {{"kind", "Pod"}, {"namespace", "default"}, {"name", "a"}, {"uid", uid}}},
                  {"source", {{"component", source}}},
                  {"reason", reason},
                  {"message", message},
                  {"lastTimestamp", "2026-01-01T00:00:00Z"}});
  }
};

TEST_F(StatusCommandTest, WhereAllIsWellThereIsNoTable) {
  SetLease("leader-1", 1);
  Plan({"a"});
  cluster_.CreatePod("host", {{"hostNetwork", true}});
  cluster_.CreatePod("pending", {{"nodeName", nullptr}});

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_THAT(status.out, ContainsRegex("^kuryr-controller [0-9.]+: leader-1 leads, renewed "
                                        "[0-9]+s ago\n1 planned, 0 waiting, 0 inactive, 0 other "
                                        "producers', 0 releasing\n$"));
  EXPECT_EQ(status.err, "");
}

TEST_F(StatusCommandTest, StandbyOnThisMachineSaysWhetherItIsWarm) {
  Configure("[health_server]\nbind_address = 127.83.0.1\nport = 8083\n");
  std::string metrics = "# TYPE kuryr_controller_leader gauge\nkuryr_controller_leader 0\n";
  const service::HealthServer standby("127.83.0.1", 8083, {.metrics = [&] { return metrics; }});
  SetLease("leader-1", 1);
  EXPECT_THAT(Status().out, Not(HasSubstr("machine")));

  metrics += "kuryr_controller_synced 0\n";
  EXPECT_THAT(Status().out, HasSubstr("\nthe one on this machine: standby, not warm yet\n"));
  metrics += "kuryr_controller_synced 1\n";
  EXPECT_THAT(Status().out, HasSubstr("\nthe one on this machine: standby, warm\n"));
  metrics += "kuryr_controller_leader 1\n";
  EXPECT_THAT(Status().out, HasSubstr("\nthe one on this machine: leads\n"));
}

TEST_F(StatusCommandTest, HealthIsAskedAtTheSocketOfTheOneThatRuns) {
  const std::string socket = ::testing::TempDir() + "health-" + std::to_string(::getpid());
  Configure("[health_server]\nsocket = " + socket + "\n");
  EXPECT_THAT(RunCommand("health", {}, conf_).err, HasSubstr("nobody answers at " + socket));
  std::string metrics = "#\nkuryr_controller_leader 1\n";
  const service::HealthServer one(socket, 0,
                                  {.why_not_alive = [] { return std::nullopt; },
                                   .why_not_ready = [] { return "nothing is known yet"; },
                                   .metrics = [&] { return metrics; }});
  SetLease("leader-1", 1);

  EXPECT_EQ(RunCommand("health", {}, conf_).out, "ok\n");
  EXPECT_EQ(RunCommand("health", {"alive"}, conf_).status, 0);
  const ProcessResult ready = RunCommand("health", {"ready"}, conf_);
  EXPECT_EQ(ready.out, "nothing is known yet\n");
  EXPECT_EQ(ready.status, 1);
  EXPECT_THAT(Status().out, HasSubstr("\nthe one on this machine: leads\n"));
  std::filesystem::remove(socket);
}

TEST_F(StatusCommandTest, WaitingPodIsListedWithItsNewestEvent) {
  SetLease("leader-1", 1);
  FillPool({"a", "b"}, "c");

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 1) << status.err;
  EXPECT_THAT(status.out, HasSubstr("2 planned, 1 waiting, "));
  EXPECT_THAT(status.out, HasSubstr("POD        STATE    NODE   AGE  WHY\n"));
  EXPECT_THAT(
      status.out,
      ContainsRegex("default/c  waiting  node1  [0-9]+s +[0-9]+s ago: KuryrNoFreeAddress .*pods"));
  EXPECT_THAT(status.out, Not(HasSubstr("default/a")));
}

TEST_F(StatusCommandTest, EventsOfOthersAndOfAnOlderPodSayNothing) {
  SetLease("leader-1", 1);
  const json pod = cluster_.CreatePod("a");
  CreateEvent(pod.at("metadata").at("uid"), "kubelet", "ReasonX", "no");
  CreateEvent("older", "kuryr-controller", "ReasonY", "no");

  EXPECT_THAT(Status().out, ContainsRegex("default/a  waiting  node1  [0-9]+s +no Event says why"));
}

TEST_F(StatusCommandTest, ActivePlanWhosePortIsLostIsListedAsItsEventSays) {
  SetLease("leader-1", 1);
  Plan({"a", "b"});
  const json pod = cluster_.WaitForPlan("a");
  CreateEvent(pod.at("metadata").at("uid"), "kuryr-controller", "KuryrPortLost",
              "Neutron has no more eth0's port 1");

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 1) << status.err;
  EXPECT_THAT(status.out, HasSubstr("1 planned, 0 waiting, 0 inactive, 1 lost, "));
  EXPECT_THAT(status.out, ContainsRegex("default/a +planned,lost +node1 .*KuryrPortLost"));
  EXPECT_THAT(status.out, Not(HasSubstr("default/b")));
}

class NodesStatusTest : public StatusCommandTest {
 protected:
  void SetUp() override {
    StatusCommandTest::SetUp();
    Configure("[node_network]\nenabled = true\n");
    SetLease("leader-1", 1);
  }
  /// kuryr-controller's Event on node1, of so many seconds ago. What ends a problem is listed
  /// first.
  void Tell(const std::string& reason, const std::string& message, int age) {
    api().Create({{"kind", "Event"},
                  {"apiVersion", "v1"},
                  {"metadata",
                   {{"name", reason == "KuryrNodeServed" ? "a" : "b"}, {"namespace", "default"}}},
                  {"involvedObject",
                   {{"kind", "Node"},
                    {"name", "node1"},
                    {"uid", (*api().Get("nodes", "", "node1")).at("metadata").at("uid")}}},
                  {"source", {{"component", "kuryr-controller"}}},
                  {"reason", reason},
                  {"message", message},
                  {"lastTimestamp", TimeBefore(age)}});
  }
};

TEST_F(NodesStatusTest, NodeWithoutAPlanIsNamedWithItsNewestEvent) {
  EXPECT_THAT(Status().out, HasSubstr("\nmanagement ports: 0 planned, 1 waiting\n"
                                      "node node1 has none, and no Event says why\n"));

  Tell("KuryrBackendUnavailable", "chassis \"0af1\" has its address", 600);

  const ProcessResult status = Status();
  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out,
              HasSubstr("\nmanagement ports: 0 planned, 1 waiting\n"
                        "node node1: 10m ago: KuryrBackendUnavailable chassis \"0af1\" has its "));
}

TEST_F(NodesStatusTest, NodeWithAPlanIsNamedUntilItsProblemIsOver) {
  api().Patch(
      "nodes", "", "node1",
      {{"metadata",
        {{"annotations", {{"openstack.org/kuryr-vif", vif::EncodeAnnotation({NodeVif()})}}}}}});
  Tell("KuryrBackendUnavailable", "chassis \"0af1\" has its address", 600);

  const ProcessResult status = Status();
  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out,
              HasSubstr("\nmanagement ports: 1 planned, 0 waiting\nnode node1: 10m ago"));
  EXPECT_THAT(json::parse(Status({"--json"}).out)["nodes"]["problems"]["node1"],
              HasSubstr("chassis \"0af1\""));

  Tell("KuryrNodeServed", "what kept it from a network is over", 600);
  EXPECT_EQ(Status().status, 0) << Status().out;
}

TEST_F(NodesStatusTest, NextProblemWithinTheSecondInWhichOneEndsIsNamed) {
  Tell("KuryrNodeServed", "what kept it from a network is over", 600);
  Tell("KuryrBackendUnavailable", "chassis \"0af1\" has its address", 600);

  EXPECT_THAT(Status().out, HasSubstr("chassis \"0af1\" has its address"));
}

TEST_F(NodesStatusTest, ProblemThatWasNotToldAgainIsOver) {
  Tell("KuryrBackendUnavailable", "chassis \"0af1\" has its address", 3000);

  EXPECT_THAT(Status().out, Not(HasSubstr("0af1")));
}

TEST_F(StatusCommandTest, NobodyLeadsWithoutALeaseOrWithAnOldOne) {
  cluster_.CreatePod("a");
  const ProcessResult without = Status();
  SetLease("former", 60);
  const ProcessResult old = Status();

  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.out, HasSubstr(": nobody leads\n"));
  EXPECT_THAT(without.out, ContainsRegex("default/a +waiting .* nobody leads\n"));
  EXPECT_EQ(old.status, 1);
  EXPECT_THAT(old.out, ContainsRegex("nobody leads; the Lease is former's, renewed [0-9]+s ago\n"));
}

TEST_F(StatusCommandTest, LeaderIsNotKnownWhereNoneIsElected) {
  Configure("[controller]\nleader_elect = false\n");

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 0) << status.out;
  EXPECT_THAT(status.out, HasSubstr("who leads is not known: [controller] leader_elect is off"));
}

TEST_F(StatusCommandTest, WithoutTheRightToListEventsItSaysSoAndGoesOn) {
  SetLease("leader-1", 1);
  cluster_.CreatePod("a");
  ASSERT_TRUE(api().WaitForWatches(4));
  fake::Fault forbidden = fake::Fault::Status(403, "cannot list resource \"events\"");
  forbidden.verb = "list";
  forbidden.path_prefix = "/api/v1/events";
  api().Inject(forbidden);

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 1) << status.err;
  EXPECT_THAT(status.out, ContainsRegex("Events are not known: .*cannot list resource .events"));
  EXPECT_THAT(status.out, HasSubstr("default/a  waiting"));
}

TEST_F(StatusCommandTest, PlanThatIsNotActiveNamesItsPort) {
  SetLease("leader-1", 1);
  Plan({"a"});
  json vifs = *api().Get("pods", "default", "a");
  std::string text = vifs["metadata"]["annotations"]["openstack.org/kuryr-vif"];
  text = std::regex_replace(text, std::regex("\"active\":true"), "\"active\":false");
  PatchPod("a", {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", text}}}}}});

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out, HasSubstr("0 planned, 0 waiting, 1 inactive, "));
  EXPECT_THAT(status.out, ContainsRegex("default/a  planned,inactive  node1 .*waits for port "
                                        "[0-9a-f-]{36} to become active\n"));
}

TEST_F(StatusCommandTest, PlanThatCannotBeReadIsBad) {
  SetLease("leader-1", 1);
  cluster_.CreatePod("a", {}, {{"annotations", {{"openstack.org/kuryr-vif", "{"}}}});

  EXPECT_THAT(Status().out,
              AllOf(HasSubstr("1 bad, "), ContainsRegex("default/a  bad +node1 .*kuryr-vif")));
}

TEST_F(StatusCommandTest, PodThatRunsWithAFormerAddressIsAConflict) {
  SetLease("leader-1", 1);
  Plan({"a"});
  PatchPod("a", {{"metadata", {{"annotations", {{controller::kFormerAnnotation, "10.8.0.99"}}}}},
                 {"status", {{"podIPs", {{{"ip", "10.8.0.99"}}}}}}});

  EXPECT_THAT(Status().out,
              ContainsRegex("default/a  planned,conflict .*10.8.0.99.*delete the pod"));
}

std::string MacOn(const json& pod) {
  return vif::Common(VifsOn(pod).at(0).vif).address->ToString();
}

TEST_F(StatusCommandTest, TwoPodsWithOneAddressAreAConflict) {
  SetLease("leader-1", 1);
  Plan({"a", "b"});
  const json other = *api().Get("pods", "default", "b");
  std::string text = other["metadata"]["annotations"]["openstack.org/kuryr-vif"];
  const json one = *api().Get("pods", "default", "a");
  text = std::regex_replace(text, std::regex(AddressOn(other)), AddressOn(one));
  text = std::regex_replace(text, std::regex(MacOn(other)), MacOn(one));
  PatchPod("b", {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", text}}}}}});

  EXPECT_THAT(Status().out, AllOf(HasSubstr("1 planned, 0 waiting, 0 inactive, 1 in conflict"),
                                  ContainsRegex("default/b  planned,conflict .*default/a")));
}

TEST_F(StatusCommandTest, DeletedPodSaysWhatItsReleaseWaitsFor) {
  SetLease("leader-1", 1);
  Plan({"a", "b"});
  SetRunning("a");
  api().Delete("pods", "default", "a", 0);
  api().Delete("pods", "default", "b", 300);

  const ProcessResult status = Status();
  api().Delete("nodes", "", "node1");
  const ProcessResult without_node = Status();

  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out, HasSubstr("0 other producers', 2 releasing\n"));
  EXPECT_THAT(status.out, ContainsRegex("default/a  releasing .*waits for its containers to end, "
                                        "or node node1 to be gone\n"));
  EXPECT_THAT(status.out, ContainsRegex("default/b  releasing .*waits for its grace period to "
                                        "end\n"));
  EXPECT_THAT(without_node.out,
              ContainsRegex("default/a  releasing .*waits for kuryr-controller to release it\n"));
  EXPECT_THAT(without_node.out, ContainsRegex("default/b  releasing .*node node1 is gone: delete "
                                              "the pod with --force\n"));
}

TEST_F(StatusCommandTest, HundredRowsAreShownOfAnyNumberOfPods) {
  for (int i = 0; i < 601; ++i) cluster_.CreatePod("p" + std::to_string(1000 + i));

  const ProcessResult status = Status();

  EXPECT_THAT(status.out, HasSubstr("0 planned, 601 waiting, "));
  EXPECT_THAT(status.out, HasSubstr("\nand 501 more\n"));
  EXPECT_EQ(std::count(status.out.begin(), status.out.end(), '\n'), 2 + 1 + 100 + 1);
}

TEST_F(StatusCommandTest, HostileTextsMakeNoRows) {
  SetLease("leader-1\nnobody leads", 1);
  const json pod = cluster_.CreatePod("a", {{"nodeName", "n\n\x1b[31mdefault/evil  planned"}});
  api().Create({{"kind", "Event"},
                {"apiVersion", "v1"},
                {"metadata", {{"name", "e"}, {"namespace", "default"}}},
                {"involvedObject",
                 {{"kind", "Pod"},
                  {"namespace", "default"},
                  {"name", "a"},
                  {"uid", pod.at("metadata").at("uid")}}},
                {"source", {{"component", "kuryr-controller"}}},
                {"reason", "Bad\nReason"},
                {"message", "first\ndefault/evil\xc3\xa9"},
                {"lastTimestamp", "9999-99-99T00:00:00Z"}});

  const ProcessResult all = Status();
  const ProcessResult one = Status({"default/a"});

  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 4) << all.out;
  EXPECT_THAT(all.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\ndefault/evil"))));
  EXPECT_THAT(one.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\ndefault/evil"))));
}

TEST_F(StatusCommandTest, TellsTheSameAsJson) {
  SetLease("leader-1", 1);
  Plan({"a"});
  cluster_.CreatePod("c");

  const ProcessResult status = Status({"--json"});

  EXPECT_EQ(status.status, 1) << status.err;
  const json all = json::parse(status.out, nullptr, false);
  EXPECT_EQ(all["leader"]["holder"], "leader-1");
  EXPECT_EQ(all["leader"]["leads"], true);
  EXPECT_EQ(all["counts"]["planned"], 1);
  EXPECT_EQ(all["counts"]["waiting"], 1);
  EXPECT_EQ(all["pods"].size(), 1U);
  EXPECT_EQ(all["pods"]["default/c"]["state"], "waiting");
  EXPECT_EQ(all["more"], 0);
}

TEST_F(StatusCommandTest, OnePodIsToldWholly) {
  SetLease("leader-1", 1);
  Plan({"a"});
  const json pod = *api().Get("pods", "default", "a");

  const ProcessResult text = Status({"default/a"});
  const ProcessResult as_json = Status({"default/a", "--json"});

  EXPECT_EQ(text.status, 0) << text.out << text.err;
  EXPECT_THAT(text.out, HasSubstr("default/a  " + pod["metadata"]["uid"].get<std::string>()));
  EXPECT_THAT(text.out, HasSubstr("  planned by kuryr-controller, in its annotation\n"
                                  "  kuryr.openstack.org/pod-finalizer\n"
                                  "  next: nothing: all is as it should be\n"
                                  "eth0 (default): VIFOpenVSwitch, active, "));
  EXPECT_THAT(text.out, HasSubstr(AddressOn(pod)));
  const json told = json::parse(as_json.out, nullptr, false)["pods"]["default/a"];
  EXPECT_EQ(told["producer"], "kuryr-controller");
  EXPECT_EQ(told["finalizer"], true);
  EXPECT_EQ(told.value("/vifs/0/ifname"_json_pointer, ""), "eth0");
}

TEST_F(StatusCommandTest, OnePodSaysWhatIsNextAndWhy) {
  SetLease("leader-1", 1);
  cluster_.CreatePod("waits");
  cluster_.CreatePod("host", {{"hostNetwork", true}});
  cluster_.CreatePod("pending", {{"nodeName", nullptr}});
  CreatePort("theirs", cluster_.CreatePod("theirs").at("metadata").at("uid"), json::object());

  EXPECT_THAT(Status({"default/waits"}).out, HasSubstr("next: the pod is planned\n"));
  EXPECT_THAT(Status({"default/host"}).out, HasSubstr("next: nothing: the pod is on the node's"));
  EXPECT_THAT(Status({"default/pending"}).out, HasSubstr("next: nothing until the pod has a node"));
  EXPECT_THAT(Status({"default/theirs"}).out, HasSubstr("next: nothing: another producer"));
}

TEST_F(StatusCommandTest, OnePodThatIsNotThereIsNotWell) {
  SetLease("leader-1", 1);

  const ProcessResult status = Status({"default/none"});

  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out, HasSubstr("default/none is not in the cluster\n"));
}

TEST_F(StatusCommandTest, WhatNamesNoPodIsRefused) {
  for (const char* name : {"a", "default/", "default/../nodes", "default/a?watch=true", "A/b"}) {
    const ProcessResult status = Status({name});

    EXPECT_EQ(status.status, 2) << name;
    EXPECT_THAT(status.err, HasSubstr("names no pod; expected NAMESPACE/NAME")) << name;
  }
}

TEST_F(StatusCommandTest, ApiServerThatDoesNotAnswerIsAnError) {
  api().StopListening();

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 2);
  EXPECT_THAT(status.err, StartsWith("kuryr-controller: "));
  EXPECT_EQ(status.out, "");
}

/// KuryrPorts with a status subresource, and without.
class StatusOfPortsTest : public StatusCommandTest, public ::testing::WithParamInterface<bool> {
 protected:
  static fake::Options Definition(bool has_status) {
    fake::Resource ports = fake::KuryrPorts();
    ports.has_status = has_status;
    return WithLeases({ports});
  }
  StatusOfPortsTest() : StatusCommandTest(Definition(GetParam())) {}
};

TEST_P(StatusOfPortsTest, PlanOnAKuryrPortIsThePods) {
  SetLease("leader-1", 1);
  Plan({"a"}, SinkKind::kKuryrPort);

  const ProcessResult all = Status();
  const ProcessResult one = Status({"default/a"});

  EXPECT_EQ(all.status, 0) << all.out << all.err;
  EXPECT_THAT(all.out, HasSubstr("1 planned, 0 waiting, "));
  EXPECT_EQ(one.status, 0) << one.out << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("planned by kuryr-controller, on its KuryrPort\n"),
                             HasSubstr("eth0 (default): VIFOpenVSwitch, active, ")));
}

INSTANTIATE_TEST_SUITE_P(Definitions, StatusOfPortsTest, ::testing::Bool());

/// Makes texts comparable: one blank between words, the same ages and version.
std::string Comparable(std::string text) {
  text = std::regex_replace(text, std::regex(" +"), " ");
  text = std::regex_replace(text, std::regex("\\b[0-9]+[smhd]\\b"), "AGE");
  return std::regex_replace(text, std::regex("kuryr-controller [0-9.]+:"), "kuryr-controller:");
}

TEST_F(StatusCommandTest, DocsShowWhatItPrints) {
  SetLease("node1_0c7dfe1e-5f6f-4a0f-9d3e-9a4ab2bd4f2c", 1);
  FillPool({"db-0", "web-1"}, "web-2");
  SetRunning("db-0");
  api().Delete("pods", "default", "db-0");
  CreatePort("old", "gone", {{controller::kPlannerAnnotation, controller::kPlanner}});
  std::ifstream file(test::SourceDir() + "/docs/controller.md");
  const std::string docs =
      Comparable({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});

  EXPECT_THAT(docs, HasSubstr("$ kuryr-controller status\n" + Comparable(Status().out)));
  EXPECT_THAT(docs, HasSubstr("$ kuryr-controller orphans\n" + Comparable(Orphans().out)));
}

class StatusWithoutPortsTest : public StatusCommandTest {
 protected:
  StatusWithoutPortsTest() : StatusCommandTest(WithLeases({})) {}
};

TEST_F(StatusWithoutPortsTest, NoDefinitionIsNoKuryrPorts) {
  SetLease("leader-1", 1);
  Plan({"a"});

  EXPECT_EQ(Status().status, 0);
  EXPECT_EQ(Status({"default/a"}).status, 0);
}

}  // namespace
}  // namespace kuryr::test
