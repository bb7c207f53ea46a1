#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/binding/node/node_vif.h"
#include "tests/cni/agent/agent_fixture.h"
#include "tests/support/paths.h"

// The node's own port, which kuryr-daemon makes and keeps.

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class NodeNetworkTest : public AgentTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    AddBridge();
    RunOnHost({"ip", "link", "add", "uplink", "type", "veth", "peer", "name", "fabric"});
    RunOnHost({"ip", "address", "add", "192.0.2.1/24", "dev", "uplink"});
    for (const char* end : {"uplink", "fabric"}) RunOnHost({"ip", "link", "set", end, "up"});
    MakeNode("node2", "192.0.2.2",
             {NodeVif({{"10.244.2.0/24", "10.244.2.1"}, {"fd00:1:2::/64", "fd00:1:2::1"}})});
  }
  void MakeNode(const std::string& name, const std::string& address,
                const std::vector<vif::PodVif>& vifs) {
    json node = {{"apiVersion", "v1"},
                 {"kind", "Node"},
                 {"metadata", {{"name", name}}},
                 {"status", {{"addresses", {{{"type", "InternalIP"}, {"address", address}}}}}}};
    if (!vifs.empty())
      node["metadata"]["annotations"]["openstack.org/kuryr-vif"] = vif::EncodeAnnotation(vifs);
    api_->Create(node);
  }
  void AnnotateNode(const std::string& name, const json& text) {
    api_->Patch("nodes", "", name,
                {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", text}}}}}});
  }
  void StartNodeAgent(bool enabled = true) {
    const std::string word = enabled ? "true" : "false";
    StartAgentWith("[node_network]\npolicies = false\nenabled = " + word + "\n", "",
                   enabled ? 2 : kAgentWatches);
  }
  /// An agent that has made all of it.
  void StartPlanned() {
    MakeNode("node1", "192.0.2.1", {NodeVif()});
    StartNodeAgent();
    WaitForMade();
  }
  /// The last part is the rules.
  void WaitForMade() { WaitFor("outcome=made part=rules"); }
  [[nodiscard]] json Status() const { return json::parse(AskStatus({"--json"}), nullptr, false); }
  [[nodiscard]] std::string AskStatus(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> argv = {BinDir() + "/kuryr-daemon", "--config-file",
                                     (work_ / "kuryr.conf").string(), "status"};
    argv.insert(argv.end(), options.begin(), options.end());
    return RunProgram({.argv = argv}).out;
  }
  TestPod PlugAlone() {
    TestPod pod = RoutedPod("a");
    EXPECT_EQ(Run("ADD", pod).status, 0);
    return pod;
  }
  [[nodiscard]] std::string BridgeSocket() const {
    return "unix:" + ovs_->folder().string() + "/br-int.mgmt";
  }
  static std::string Ofctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ovs-ofctl");
    return RunOnHost(arguments);
  }
  /// Counts kuryr's flows.
  [[nodiscard]] size_t CountFlows() const {
    const std::string flows = Ofctl({"dump-flows", BridgeSocket()});
    size_t count = 0;
    for (size_t at = 0; (at = flows.find(kOwnCookie, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  /// The network of Vif's VIFs.
  static constexpr const char* kPodNetwork = "f5703a6c-299d-5e80-a783-7c45b151f528";
  static constexpr const char* kOwnCookie = "cookie=0x6b757279";
  std::string PortList() { return ovs_->Vsctl({"list-ports", "br-int"}); }
};

TEST_F(NodeNetworkTest, IsMadeByTheNodesPlan) {
  StartPlanned();

  EXPECT_EQ(PortList(), "kuryr0");
  EXPECT_THAT(RunOnHost({"ip", "address", "show", "kuryr0"}), HasSubstr("10.244.1.1/24"));
  EXPECT_THAT(RunOnHost({"ip", "route"}), HasSubstr("10.244.2.0/24 via 192.0.2.2"));
  EXPECT_THAT(RunOnHost({"nft", "list", "ruleset"}), HasSubstr("masquerade"));
}

TEST_F(NodeNetworkTest, WhatSomebodyChangesIsBack) {
  StartPlanned();
  const auto change = [&](const std::vector<std::string>& command, const std::string& repair) {
    RunOnHost(command);
    WaitFor("outcome=repaired part=" + repair);
  };

  change({"ip", "address", "del", "10.244.1.1/24", "dev", "kuryr0"},
         "addresses differences=\"link kuryr0 lacks address 10.244.1.1/24");
  change({"ip", "link", "set", "kuryr0", "down"}, "port differences=\"link kuryr0 is down");
  change({"ip", "route", "del", "10.244.2.0/24"},
         "routes differences=\"route to 10.244.2.0/24, pods of node2, is missing");
  change({"nft", "flush", "ruleset"}, "rules");
  ovs_->Vsctl({"--no-wait", "del-port", "kuryr0"});
  ovs_->Vsctl({"wait-until", "Interface", "kuryr0", "ofport>0"});

  ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events"));
  const json event = api_->List("events", "default").at(0);
  EXPECT_EQ(event["reason"], "NodeNetworkRepaired");
  EXPECT_EQ(event["involvedObject"]["kind"], "Node");
}

TEST_F(NodeNetworkTest, WipedDatabaseIsMended) {
  StartPlanned();

  ovs_->Vsctl({"--no-wait", "emer-reset", "--", "del-br", "br-int"});
  WaitFor("outcome=repaired part=addresses");

  EXPECT_EQ(PortList(), "kuryr0");
}

TEST_F(NodeNetworkTest, RestartOfOpenVSwitchIsMended) {
  StartPlanned();

  ovs_->StopVswitchd();
  ovs_->Vsctl({"--no-wait", "del-port", "kuryr0"});
  WaitFor("outcome=failed part=port");
  EXPECT_EQ(FirstEvent()["reason"], "NodeNetworkFailed");
  ovs_->StartVswitchd();
  WaitFor("outcome=repaired part=port");

  EXPECT_THAT(RunOnHost({"ip", "address", "show", "kuryr0"}), HasSubstr("10.244.1.1/24"));
}

TEST_F(NodeNetworkTest, RestartOfOpenVSwitchLeavesNoPodOpen) {
  StartPlanned();
  const TestPod pod = PlugAlone();
  const size_t added = CountFlows();
  EXPECT_GT(added, 20U);

  ovs_->StopVswitchd();
  ovs_->StartVswitchd();
  WaitFor("outcome=repaired kind=protection");

  EXPECT_EQ(CountFlows(), added);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  EXPECT_EQ(CountFlows(), 0U);
}

TEST_F(NodeNetworkTest, WipedDatabaseLeavesNoPodOpen) {
  StartPlanned();
  const TestPod pod = PlugAlone();
  const size_t added = CountFlows();

  ovs_->Vsctl({"--no-wait", "emer-reset", "--", "del-br", "br-int"});
  WaitFor("outcome=repaired kind=port");

  EXPECT_EQ(CountFlows(), added);
}

TEST_F(NodeNetworkTest, FlowsOfPortsThatAreGoneAreRemovedAtTheStart) {
  StartPlanned();
  (void)PlugAlone();
  const size_t added = CountFlows();
  Ofctl({"add-flow", BridgeSocket(), "cookie=0x77,priority=9,in_port=4000 actions=drop"});
  Ofctl({"add-flow", BridgeSocket(),
         kOwnCookie + std::string("00000001,priority=8,in_port=4000 actions=drop")});
  EXPECT_EQ(CountFlows(), added + 1);
  StopAgent(SIGTERM);

  StartNodeAgent();
  WaitFor("\"removed flows of ports that are gone\" ports=1");

  EXPECT_EQ(CountFlows(), added);
  EXPECT_THAT(Ofctl({"dump-flows", BridgeSocket()}), HasSubstr("cookie=0x77"));
}

TEST_F(NodeNetworkTest, PluginAloneKeepsPodsToTheirAddresses) {
  WriteConfig(DefaultKubernetes(), "");
  const TestPod pod = PlugAlone();
  EXPECT_GT(CountFlows(), 20U);

  EXPECT_EQ(Run("DEL", pod).status, 0);

  EXPECT_EQ(CountFlows(), 0U);
}

TEST_F(NodeNetworkTest, GivesUpARepairThatIsUndoneEachTime) {
  StartPlanned();
  for (size_t round = 1; round <= 3; ++round) {
    RunOnHost({"nft", "delete", "table", "inet", "kuryr-node"});
    // The repair's Event comes after all of it.
    ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events", round));
  }

  RunOnHost({"nft", "delete", "table", "inet", "kuryr-node"});
  WaitFor("outcome=contested part=rules");

  EXPECT_THAT(RunOnHost({"nft", "list", "ruleset"}), IsEmpty());
  EXPECT_THAT(Status()["node_network"]["problems"].dump(), HasSubstr("undoes each repair"));
}

TEST_F(NodeNetworkTest, NewNodesAndNewPlansAreNoRepairs) {
  StartPlanned();
  for (int n = 3; n < 9; ++n) {
    const std::string network = "10.244." + std::to_string(n) + ".";
    MakeNode("node" + std::to_string(n), "192.0.2." + std::to_string(n),
             {NodeVif({{network + "0/24", network + "1"}})});
    WaitFor("part=routes differences=\"route to " + network + "0/24, pods of node");
  }

  EXPECT_THAT(RunOnHost({"ip", "route"}), HasSubstr("10.244.8.0/24 via 192.0.2.8"));
  EXPECT_THAT(EndAgent(), Not(HasSubstr("contested")));
}

TEST_F(NodeNetworkTest, PodsOfAnEarlierNetworkOfTheNodeAreTold) {
  const auto plan = [](const std::string& cidr, const std::string& address) {
    vif::PodVif node = NodeVif({{cidr, address}});
    vif::Common(node.vif).network->id = kPodNetwork;
    return node;
  };
  MakeNode("node1", "192.0.2.1", {plan("10.10.0.0/16", "10.10.255.1")});
  StartNodeAgent();
  WaitForMade();
  const TestPod pod = ActivePod("a");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  EXPECT_THAT(Status()["node_network"]["problems"], IsEmpty());

  AnnotateNode("node1", vif::EncodeAnnotation({plan("10.20.0.0/16", "10.20.0.1")}));
  WaitFor("1 with addresses of an earlier network of this node");

  EXPECT_THAT(Status()["node_network"]["problems"].dump(), HasSubstr("default/a"));
  const json event = FirstEvent();
  EXPECT_EQ(event["reason"], "CNIUnreachable");
  EXPECT_EQ(event["involvedObject"]["name"], "a");
  EXPECT_THAT(event["message"], HasSubstr(pod.ip));
}

TEST_F(NodeNetworkTest, RouteGoesWithItsNode) {
  StartPlanned();

  api_->Delete("nodes", "", "node2");
  WaitFor("outcome=made part=routes differences=\"route to 10.244.2.0/24 is no longer planned");

  EXPECT_THAT(RunOnHost({"ip", "route"}), Not(HasSubstr("10.244.2.0/24")));
}

TEST_F(NodeNetworkTest, ForgedAnnotationsOfOtherNodesDoNoHarm) {
  AnnotateNode("node2", "{\"a\": [");
  MakeNode("node3", "192.0.2.3", {NodeVif({{"0.0.0.0/0", "10.0.0.1"}})});
  MakeNode("node4", "192.0.2.4", {NodeVif({{"192.0.2.0/24", "192.0.2.1"}})});
  MakeNode("node5", "not an address", {NodeVif({{"10.244.0.0/16", "10.244.0.1"}})});
  const std::string before = RunOnHost({"ip", "route"});
  StartPlanned();

  EXPECT_EQ(RunOnHost({"ip", "route"}),
            "10.244.1.0/24 dev kuryr0 proto kernel scope link src 10.244.1.1 \n" + before);
  const std::string log = EndAgent();
  EXPECT_THAT(log, AllOf(HasSubstr("node3 0.0.0.0/0: is wider"),
                         HasSubstr("node4 192.0.2.0/24: has the InternalIP"),
                         HasSubstr("node5 10.244.0.0/16: overlaps the network of this")));
}

TEST_F(NodeNetworkTest, AddressThatANodeSaysLaterTakesNoRouteAway) {
  StartPlanned();

  MakeNode("node0", "10.244.2.77", {});
  WaitFor(
      "before\" detail=\"node2 10.244.2.0/24: the InternalIP of node0, 10.244.2.77, is ignored");
  EXPECT_THAT(RunOnHost({"ip", "route"}), HasSubstr("10.244.2.0/24 via 192.0.2.2"));
  EXPECT_THAT(AskStatus(), ContainsRegex("node2 +10.244.2.0/24 .*routed +the InternalIP of node0"));
  EXPECT_THAT(Metrics(), HasSubstr("kuryr_daemon_node_contradictions 1\n"));

  StopAgent(SIGKILL);
  StartNodeAgent();
  WaitFor(
      "before\" detail=\"node2 10.244.2.0/24: the InternalIP of node0, 10.244.2.77, is ignored");
  EXPECT_THAT(RunOnHost({"ip", "route"}), HasSubstr("10.244.2.0/24 via 192.0.2.2"));
}

TEST_F(NodeNetworkTest, PodsAreMasqueradedWhateverNodesSayIsTheirs) {
  StartPlanned();

  MakeNode("node3", "203.0.113.53", {NodeVif({{"10.244.3.0/24", "10.244.3.1"}})});
  WaitFor("node3 10.244.3.0/24: 203.0.113.53 is not on a link of this node");

  const std::string rules = RunOnHost({"nft", "list", "ruleset"});
  EXPECT_THAT(rules, HasSubstr("10.244.3.255"));
  EXPECT_THAT(rules, Not(HasSubstr("203.0.113.53")));
}

TEST_F(NodeNetworkTest, StatusTellsOfTheMissingPlan) {
  MakeNode("node1", "192.0.2.1", {});
  StartNodeAgent();

  AnnotateNode("node1", vif::EncodeAnnotation({NodeVif()}));
  WaitForMade();
  const json made = Status()["node_network"];
  EXPECT_THAT(AskStatus(), HasSubstr("node network: kuryr0 ── br-int, fa:16:3e:0a:00:01"));
  AnnotateNode("node1", nullptr);
  WaitFor("the node's network was taken back");

  EXPECT_THAT(made["problems"], IsEmpty());
  EXPECT_EQ(made["addresses"], (json{"10.244.1.1/24", "fd00:1:1::1/64"}));
  EXPECT_EQ(made["routes"][0]["state"], "routed");
  EXPECT_EQ(made["routes"][1]["state"], "elsewhere");
  EXPECT_EQ(PortList(), "");
  EXPECT_THAT(AskStatus(), HasSubstr("Node node1 has none for kuryr0"));
}

TEST_F(NodeNetworkTest, DoctorTellsWhatIsThereAndWhatIsMissing) {
  const auto doctor = [&] {
    return RunProgram({.argv = {BinDir() + "/kuryr-cni",
                                "--config-file=" + (work_ / "kuryr.conf").string(), "doctor"}})
        .out;
  };
  MakeNode("node1", "192.0.2.1", {});
  WriteConfig(DefaultKubernetes(), "[node_network]\nenabled = true\n");
  EXPECT_THAT(doctor(), HasSubstr("? node network: "));

  StartNodeAgent();
  AnnotateNode("node1", vif::EncodeAnnotation({NodeVif()}));
  WaitForMade();
  EXPECT_THAT(doctor(), AllOf(HasSubstr("✓ node network: kuryr0 on br-int, 10.244.1.1/24"),
                              HasSubstr("? routes to other nodes' pods: node2 fd00:1:2::/64: ")));

  AnnotateNode("node1", "{");
  WaitFor("the node's network is not as planned");
  EXPECT_THAT(doctor(), HasSubstr("✗ node network: plan: "));
}

TEST_F(NodeNetworkTest, UnreadablePlanLeavesWhatIsThere) {
  StartPlanned();

  AnnotateNode("node1", "{");
  WaitFor("the node's network is not as planned");

  EXPECT_EQ(PortList(), "kuryr0");
}

TEST_F(NodeNetworkTest, SwitchedOffItIsTakenBack) {
  StartPlanned();
  StopAgent(SIGKILL);
  EXPECT_EQ(PortList(), "kuryr0") << "pods keep their way while the agent is away";

  StartNodeAgent(false);
  WaitFor("the node's network was taken back");

  EXPECT_EQ(PortList(), "");
  EXPECT_THAT(RunOnHost({"ip", "route"}), Not(HasSubstr("10.244")));
  EXPECT_THAT(RunOnHost({"nft", "list", "ruleset"}), IsEmpty());
  EXPECT_TRUE(Status()["node_network"].is_null());
}

TEST_F(NodeNetworkTest, CommandTakesItBackWithoutAnAgent) {
  StartPlanned();
  StopAgent(SIGKILL);
  const Command removal = {.argv = {BinDir() + "/kuryr-daemon", "--config-file",
                                    (work_ / "kuryr.conf").string(), "remove-node-network"}};

  EXPECT_EQ(RunProgram(removal).out, "removed\n");
  EXPECT_EQ(RunProgram(removal).out, "there was nothing to remove\n");

  EXPECT_EQ(PortList(), "");
}

TEST_F(NodeNetworkTest, NodeIsAChassisUntilItIsTakenBack) {
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:system-id=mine"});
  MakeNode("node1", "192.0.2.1", {NodeVif()});
  WriteConfig(DefaultKubernetes(),
              "[node_network]\nenabled = true\n[ovn]\nmanage_node = true\n"
              "sb_connection = tcp:192.0.2.9:6642\n");
  StartAgent();
  WaitForMade();

  const std::string text = AskStatus();
  EXPECT_THAT(text, ContainsRegex("ovn-remote +tcp:192.0.2.9:6642 +kuryr-daemon"));
  EXPECT_THAT(text, ContainsRegex("ovn-encap-ip +192.0.2.1 +kuryr-daemon"));
  EXPECT_THAT(text, ContainsRegex("hostname +node1 +kuryr-daemon"));
  EXPECT_THAT(text, ContainsRegex("system-id +mine +another"));
  AnnotateNode("node1", nullptr);
  WaitFor("the node's network was taken back");
  EXPECT_EQ(ovs_->Vsctl({"get", "Open_vSwitch", ".", "external_ids"}), "{system-id=mine}");
}

TEST_F(NodeNetworkTest, StatusOfANodeThatOvnTakesForAnotherIsNotHeadedReady) {
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:system-id=0af1",
               "external_ids:hostname=elsewhere"});
  MakeNode("node1", "192.0.2.1", {NodeVif()});
  WriteConfig(DefaultKubernetes(),
              "[node_network]\nenabled = true\n[ovn]\nmanage_node = true\n"
              "sb_connection = tcp:192.0.2.9:6642\n");
  StartAgent();
  WaitForMade();

  const std::string text = AskStatus();
  EXPECT_THAT(text, HasSubstr(": ready to plug pods, but the node's network is not as planned\n"));
  EXPECT_THAT(text, HasSubstr("hostname of Open vSwitch is elsewhere instead of node1"));
}

TEST_F(NodeNetworkTest, PodsArePluggedWithoutTheRightToWatchNodes) {
  fake::Fault refusal = fake::Fault::Status(403, "no right");
  refusal.path_prefix = "/api/v1/nodes";
  refusal.count = -1;
  api_->Inject(refusal);
  WriteConfig(DefaultKubernetes(), "[node_network]\nenabled = true\n");
  StartAgent();
  ASSERT_TRUE(api_->WaitForWatches(1));
  const TestPod pod = ActivePod("a");

  EXPECT_EQ(Run("ADD", pod).status, 0);

  EXPECT_EQ(Run("DEL", pod).status, 0);
}

}  // namespace
}  // namespace kuryr::test
