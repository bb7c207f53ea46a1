#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/cni/plugin/ovs_cni_fixture.h"
#include "tests/support/frame_capture.h"
#include "tests/support/neighbour_table.h"
#include "tests/support/traffic.h"

namespace kuryr::test {
namespace {

using binding::Netns;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A configuration of ovs-cni's documentation, and the port that it says.
struct Example {
  const char* what;
  const char* config;
  const char* tag;
  const char* vlan_mode;
  const char* trunks;
  uint32_t mtu;
};

constexpr const char* kRangeFrom1000 =
    "[42, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010]";
constexpr const char* kRangeFrom1050 =
    "[1050, 1051, 1052, 1053, 1054, 1055, 1056, 1057, 1058, 1059]";

/// Examples of ovs-cni's pages README.md, cni-plugin.md, demo.md and ovs-offload.md. A definition's
/// name is in the configuration, where Multus writes it.
const std::vector<Example> kExamples = {
    {"VLAN", R"({"name":"mynet","type":"ovs","bridge":"mynet0","vlan":100})", "100", "access", "[]",
     1500},
    {"interface type",
     R"({"name":"overlaynet","type":"ovs","bridge":"mynet1","interface_type":"system"})", "[]",
     "trunk", "[]", 1500},
    {"trunk",
     R"({"name":"mytrunknet","type":"ovs","bridge":"mynet1","mtu":9000,
         "trunk":[{"id":42},{"minID":1000,"maxID":1010}]})",
     "[]", "trunk", kRangeFrom1000, 9000},
    {"manual test",
     R"({"cniVersion":"0.4.0","name":"mynet","type":"ovs","bridge":"br1","vlan":100})", "100",
     "access", "[]", 1500},
    {"manual test of older versions",
     R"({"cniVersion":"0.3.1","name":"mynet","type":"ovs","bridge":"br1","vlan":100})", "100",
     "access", "[]", 1500},
    {"demo", R"({"cniVersion":"0.4.0","name":"ovs-net-1","type":"ovs","bridge":"br1"})", "[]",
     "trunk", "[]", 1500},
    {"demo with VLAN",
     R"({"cniVersion":"0.4.0","name":"ovs-net-2-vlan","type":"ovs","bridge":"br1","vlan":100})",
     "100", "access", "[]", 1500},
    {"front page",
     R"({"cniVersion":"0.4.0","name":"ovs-conf","type":"ovs","bridge":"br1","vlan":100})", "100",
     "access", "[]", 1500},
    {"demo with IPAM",
     R"({"cniVersion":"0.4.0","name":"ovs-ipam-net","type":"ovs","bridge":"br1","vlan":100,
         "ipam":{"type":"static"},"mtu":1450})",
     "100", "access", "[]", 1450},
    {"trunk of the offload page",
     R"({"cniVersion":"0.4.0","name":"ovs-trunk-net","type":"ovs","bridge":"br1",
         "trunk":[{"minID":1050,"maxID":1059}]})",
     "[]", "trunk", kRangeFrom1050, 1500},
};

TEST_F(OvsCniTest, EveryDocumentedExampleMakesItsPortAndADelTakesItAway) {
  const TestPod pod = MakePod("web");
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.what);
    json config = json::parse(example.config);
    // The caller of a plugin adds the version when the page has none.
    if (!config.contains("cniVersion")) config["cniVersion"] = "0.4.0";

    const bool has_ipam = config.contains("ipam");

    const std::string port = Added(pod, config, has_ipam ? "IP=10.10.10.1/24" : "");

    EXPECT_EQ(config["bridge"], BridgeOf(port));
    EXPECT_EQ(Get("Port", port, "tag"), example.tag);
    EXPECT_EQ(Get("Port", port, "vlan_mode"), example.vlan_mode);
    EXPECT_EQ(Get("Port", port, "trunks"), example.trunks);
    EXPECT_EQ(Get("Port", port, "external_ids"), "{contIface=eth0, contNetns=\"" + pod.netns +
                                                     "\", contPodUid=\"" + pod.uid +
                                                     "\", owner=ovs-cni.network.kubevirt.io}");
    EXPECT_EQ(Get("Port", port, "qos"), "[]");
    EXPECT_EQ(Get("Interface", port, "error"), "[]");
    const json link = LinkIn(pod, "eth0");
    EXPECT_EQ(link["mtu"], example.mtu);
    EXPECT_EQ(link.dump().find("10.10.10.1") != std::string::npos, has_ipam);
    for (int i = 0; i < 2; ++i) ExpectDeleted(pod, config);
    ExpectNothingButBridges();
  }
}

TEST_F(OvsCniTest, TheDemosPodHasATrunkAndAVlanOfOneBridge) {
  const TestPod pod = MakePod("samplepod-1");
  const json trunk = {{"cniVersion", "0.4.0"}, {"name", "ovs-net-1"}, {"bridge", "br1"}};
  const json vlan = {
      {"cniVersion", "0.4.0"}, {"name", "ovs-net-2-vlan"}, {"bridge", "br1"}, {"vlan", 100}};
  auto second = Options(vlan);
  second["CNI_IFNAME"] = "net2";

  const std::string of_trunk = Added(pod, trunk);
  const ProcessResult added = Run("ADD", pod, second);

  ASSERT_EQ(added.status, 0) << added.out;
  const std::string of_vlan = json::parse(added.out)["interfaces"][0]["name"];
  EXPECT_EQ(BridgeOf(of_trunk), "br1");
  EXPECT_EQ(BridgeOf(of_vlan), "br1");
  EXPECT_EQ(Get("Port", of_trunk, "tag"), "[]");
  EXPECT_EQ(Get("Port", of_vlan, "tag"), "100");
  EXPECT_NE(LinkIn(pod, "eth0"), json());
  EXPECT_NE(LinkIn(pod, "net2"), json());
  EXPECT_EQ(Run("DEL", pod, second).status, 0);
  EXPECT_EQ(BridgeOf(of_trunk), "br1");
  ExpectDeleted(pod, trunk);
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, TheDemosPodsReachEachOtherAndNoOtherVlan) {
  const json in_100 = {
      {"cniVersion", "0.4.0"}, {"bridge", "br1"}, {"vlan", 100}, {"ipam", {{"type", "static"}}}};
  json in_200 = in_100;
  in_200["vlan"] = 200;
  const TestPod one = MakePod("one");
  const TestPod two = MakePod("two");
  const TestPod other = MakePod("other");
  Added(one, in_100, "IP=10.10.10.1/24");
  Added(two, in_100, "IP=10.10.10.2/24");
  Added(other, in_200, "IP=10.10.10.3/24");
  const Netns others = Netns::Open(other.netns);
  std::optional<FrameCapture> capture;
  {
    const binding::NetnsGuard guard(others);
    capture.emplace("eth0");
  }

  ExpectTraffic(Netns::Open(one.netns), Netns::Open(two.netns), "10.10.10.2");

  const MacAddress mac = *MacAddress::Parse(LinkIn(one, "eth0").value("address", ""));
  for (const Frame& frame : capture->Take()) EXPECT_FALSE(frame.source == mac);
}

TEST_F(OvsCniTest, ANeighbourTakesTheMacOfAnAddressThatComesBack) {
  const json config = {{"cniVersion", "0.4.0"}, {"bridge", "br1"}, {"ipam", {{"type", "static"}}}};
  const TestPod neighbour = MakePod("neighbour");
  const TestPod pod = MakePod("pod");
  Added(neighbour, config, "IP=10.10.10.2/24");
  Added(pod, config, "IP=10.10.10.1/24;MAC=02:00:00:00:00:01");
  RunIn(Netns::Open(neighbour.netns), {"ping", "-c1", "-w20", "10.10.10.1"});
  ExpectDeleted(pod, config);
  NeighbourTable table(Netns::Open(neighbour.netns));

  Added(pod, config, "IP=10.10.10.1/24;MAC=02:00:00:00:00:02");

  table.WaitFor("10.10.10.1", *MacAddress::Parse("02:00:00:00:00:02"));
}

/// Users of ovs-cni asked for this: https://github.com/k8snetworkplumbingwg/ovs-cni/pull/261.
TEST_F(OvsCniTest, ATrunkWithANativeVlanTalksUntagged) {
  const json ipam = {{"type", "static"}};
  const TestPod trunk = MakePod("trunk");
  const TestPod access = MakePod("access");
  const std::string port = Added(trunk,
                                 {{"cniVersion", "1.0.0"},
                                  {"bridge", "br1"},
                                  {"vlan", 100},
                                  {"trunk", json::array({json{{"id", 200}}})},
                                  {"vlan_mode", "native-untagged"},
                                  {"ipam", ipam}},
                                 "IP=10.10.10.1/24");
  Added(access, {{"cniVersion", "1.0.0"}, {"bridge", "br1"}, {"vlan", 100}, {"ipam", ipam}},
        "IP=10.10.10.2/24");

  EXPECT_EQ(Get("Port", port, "tag"), "100");
  EXPECT_EQ(Get("Port", port, "trunks"), "[200]");
  EXPECT_EQ(Get("Port", port, "vlan_mode"), "native-untagged");
  ExpectTraffic(Netns::Open(trunk.netns), Netns::Open(access.netns), "10.10.10.2");
}

TEST_F(OvsCniTest, AnOpenFlowPortNumberIsTheOneAskedFor) {
  const std::string port =
      Added(MakePod("web"), {{"cniVersion", "1.0.0"}, {"bridge", "br1"}, {"ofport_request", 4242}});

  EXPECT_EQ(Get("Interface", port, "ofport_request"), "4242");
  EXPECT_EQ(Get("Interface", port, "ofport"), "4242");
}

TEST_F(OvsCniTest, AMacComesByCniArgsOrArgsCniInAnyCase) {
  const json bridge = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  const TestPod one = MakePod("one");
  const TestPod two = MakePod("two");
  json by_args = bridge;
  by_args["args"]["cni"]["Mac"] = "02:00:00:00:00:02";

  Added(one, bridge, "MAC=02:00:00:00:00:01");
  Added(two, by_args);

  EXPECT_EQ(LinkIn(one, "eth0")["address"], "02:00:00:00:00:01");
  EXPECT_EQ(LinkIn(two, "eth0")["address"], "02:00:00:00:00:02");
}

TEST_F(OvsCniTest, AnOvnPortIsOnBrIntUnderItsName) {
  AddBridge("br-int");
  ports_before_ = Ports();
  const json no_bridge = {{"cniVersion", "1.0.0"}};
  json by_args = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  by_args["args"]["cni"]["ovnport"] = "default_two";
  const TestPod one = MakePod("one");
  const TestPod two = MakePod("two");

  const std::string first = Added(one, no_bridge, "OvnPort=default_one");
  EXPECT_EQ(BridgeOf(first), "br-int");
  EXPECT_EQ(Get("Interface", first, "external_ids:iface-id"), "default_one");
  const std::string second = Added(two, by_args);
  EXPECT_EQ(BridgeOf(second), "br1");
  EXPECT_EQ(Get("Interface", second, "external_ids:iface-id"), "default_two");

  ExpectDeleted(one, no_bridge);
  ExpectDeleted(two, by_args);
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, AnOvnPortThatAnotherPodHasIsRefusedWithoutAWordOfIt) {
  const json config = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  const TestPod one = MakePod("one");
  Added(one, config, "OvnPort=default_one");

  const json error = Refused(MakePod("two"), config, "OvnPort=default_one");

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"], HasSubstr("OVN's port default_one"));
  EXPECT_THAT(error.dump(), AllOf(Not(HasSubstr(one.uid)), Not(HasSubstr(one.container_id))));
}

TEST_F(OvsCniTest, WhatIsAskedForInWordsOfNoUseIsRefused) {
  const json config = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  const TestPod pod = MakePod("web");

  EXPECT_EQ(Refused(pod, config, "OvnPort=a b")["code"], 4);
  EXPECT_EQ(Refused(pod, config, "MAC=01:00:00:00:00:01")["code"], 4);
  json by_args = config;
  by_args["args"]["cni"]["ovnPort"] = "a\nb";
  EXPECT_EQ(Refused(pod, by_args)["code"], 7);
  by_args["args"]["cni"]["ovnPort"] = 7;
  EXPECT_EQ(Refused(pod, by_args)["code"], 7);
  json device = config;
  device["deviceID"] = "../../etc";
  EXPECT_THAT(Refused(pod, device)["msg"], HasSubstr("deviceID"));
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, ABridgeThatIsMissingIsNotMade) {
  const json error = Refused(MakePod("web"), {{"cniVersion", "1.0.0"}, {"bridge", "br9"}});

  EXPECT_THAT(error["msg"], HasSubstr("bridge br9 of Open vSwitch is missing"));
  EXPECT_THAT(Refused(MakePod("two"), {{"cniVersion", "1.0.0"}})["msg"],
              HasSubstr("bridge is not set"));
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, CheckFindsWhatSomebodyChanged) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  const TestPod pod = MakePod("web");
  const json config = {{"cniVersion", "1.0.0"},
                       {"bridge", "br1"},
                       {"trunk", json::array({json{{"id", 7}}})},
                       {"bandwidth", {{"ingressRate", 1000000}}},
                       {"mirrors", json::array({json{{"name", "m"}, {"ingress", true}}})}};
  const std::string port = Added(pod, config);
  json with_result = config;
  with_result["prevResult"] = result_;
  const auto check = [&] { return Run("CHECK", pod, Options(with_result)).out; };
  ASSERT_EQ(check(), "");

  ovs_->Vsctl({"set", "Port", port, "trunks=7,8"});
  EXPECT_THAT(check(), HasSubstr("has other trunks"));
  const std::string qos = Get("Port", port, "qos");
  ovs_->Vsctl(
      {"set", "Port", port, "trunks=7", "--", "set", "QoS", qos, "other_config:max-rate=2000000"});
  EXPECT_THAT(check(), HasSubstr("linux-htb max-rate=2000000 instead of linux-htb "
                                 "max-rate=1000000"));
  ovs_->Vsctl({"set", "QoS", qos, "other_config:max-rate=1000000", "--", "clear", "Mirror", "m",
               "select_src_port"});
  EXPECT_THAT(check(), HasSubstr("is not in select_src_port of mirror m"));
}

TEST_F(OvsCniTest, BandwidthIsThePortsInItsOwnWords) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  const TestPod pod = MakePod("web");
  const json config = {
      {"cniVersion", "1.0.0"}, {"bridge", "br1"}, {"bandwidth", {{"ingressRate", 20000000}}}};

  const std::string port = Added(pod, config);

  const std::string qos = Get("Port", port, "qos");
  EXPECT_EQ(Get("QoS", qos, "type"), "linux-htb");
  EXPECT_EQ(Get("QoS", qos, "other_config"), "{max-rate=\"20000000\"}");
  EXPECT_EQ(Get("QoS", qos, "queues"), "{}");
  ExpectDeleted(pod, config);
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, BandwidthThatTheRuntimeAsksForIsThePorts) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  const TestPod pod = MakePod("web");
  json config = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  config["runtimeConfig"]["bandwidth"] = {{"ingressRate", 20000000}, {"ingressBurst", 4000000}};

  const std::string port = Added(pod, config);

  const std::string qos = Get("Port", port, "qos");
  EXPECT_EQ(Get("QoS", qos, "other_config"), "{max-rate=\"20000000\"}");
  EXPECT_EQ(Get("Queue", Get("QoS", qos, "queues:0"), "other_config"),
            "{burst=\"4000000\", max-rate=\"20000000\", min-rate=\"20000000\"}");
  config["prevResult"] = result_;
  EXPECT_EQ(Run("CHECK", pod, Options(config)).out, "");
  ExpectDeleted(pod, config);
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, TheKernelHasTheRateAndTheBurst) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  json config = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  config["runtimeConfig"]["bandwidth"] = {{"ingressRate", 20000000}, {"ingressBurst", 4000000}};

  const std::string port = Added(MakePod("web"), config);

  EXPECT_THAT(RunOnHost({"tc", "class", "show", "dev", port}),
              HasSubstr("rate 20Mbit ceil 20Mbit burst 500000b"));
}

TEST_F(OvsCniTest, ThePodGetsNoMoreBandwidthThanItsNetworkSays) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  const TestPod pod = MakePod("web");
  json config = {
      {"cniVersion", "1.0.0"}, {"bridge", "br1"}, {"bandwidth", {{"ingressRate", 20000000}}}};
  for (const auto& [wish, rate] :
       {std::pair(5000000, "5000000"), std::pair(90000000, "20000000")}) {
    config["runtimeConfig"]["bandwidth"] = {{"ingressRate", wish}, {"ingressBurst", UINT32_MAX}};

    const std::string port = Added(pod, config);

    const std::string qos = Get("Port", port, "qos");
    EXPECT_EQ(Get("QoS", qos, "other_config"), "{max-rate=\"" + std::string(rate) + "\"}");
    EXPECT_EQ(Get("QoS", qos, "queues"), "{}");
    ExpectDeleted(pod, config);
  }
}

TEST_F(OvsCniTest, ALimitThatTheDatapathCannotHoldIsRefusedAndLeavesNothing) {
  if (PrivateOvs::datapath_type() == "system") GTEST_SKIP() << "the kernel's datapath holds it";
  json config = {{"cniVersion", "1.0.0"},
                 {"bridge", "br1"},
                 {"bandwidth", {{"ingressRate", 20000000}, {"egressRate", 10000000}}}};

  const json error = Refused(MakePod("web"), config);

  EXPECT_EQ(error["code"], 2);
  EXPECT_THAT(error.value("details", ""), HasSubstr("bridge br1 cannot limit what a pod sends"));
  ExpectNothingButBridges();
}

TEST_F(OvsCniTest, ABurstForLongerThanTheKernelCountsIsCut) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  const TestPod pod = MakePod("web");
  json config = {{"cniVersion", "1.0.0"}, {"bridge", "br1"}};
  config["runtimeConfig"]["bandwidth"] = {{"ingressRate", 1000000},
                                          {"ingressBurst", UINT32_MAX - 1}};

  const std::string port = Added(pod, config);

  EXPECT_EQ(Get("Queue", Get("QoS", Get("Port", port, "qos"), "queues:0"), "other_config:burst"),
            "\"100000000\"");
}

TEST_F(OvsCniTest, APoolWithoutAFreeAddressIsAFailureOfTheIpamPlugin) {
  const json config = {{"cniVersion", "1.0.0"},
                       {"bridge", "br1"},
                       {"ipam",
                        {{"type", "host-local"},
                         {"dataDir", (work_ / "networks").string()},
                         {"subnet", "10.10.10.0/24"},
                         {"rangeStart", "10.10.10.9"},
                         {"rangeEnd", "10.10.10.9"}}}};
  const TestPod first = MakePod("first");
  const TestPod second = MakePod("second");
  Added(first, config);

  const json error = Refused(second, config);

  EXPECT_EQ(error["code"], 104);
  EXPECT_THAT(error.value("msg", ""), HasSubstr("plugin host-local failed: "));
  EXPECT_THAT(error.value("msg", ""), HasSubstr("10.10.10.9"));
  ExpectDeleted(first, config);
  Added(second, config);
}

TEST_F(OvsCniTest, CON_02_AnAddKilledAtAnyMomentLeavesNothingAfterDel) {
  if (const std::string why = WhyNotShaped(); !why.empty()) GTEST_SKIP() << why;
  const TestPod pod = MakePod("web");
  const json config = {{"cniVersion", "1.0.0"},
                       {"bridge", "br1"},
                       {"vlan", 7},
                       {"ipam", {{"type", "static"}}},
                       {"bandwidth", {{"ingressRate", 1000000}}},
                       {"mirrors", json::array({json{{"name", "m"}, {"egress", true}}})}};
  auto options = Options(config);
  options["CNI_ARGS"] = Args(pod, "IP=10.10.10.1/24");
  const auto begin = std::chrono::steady_clock::now();
  Added(pod, config, "IP=10.10.10.1/24");
  const auto whole = std::chrono::steady_clock::now() - begin;
  ExpectDeleted(pod, config);

  const int killed = KillAdds(
      pod, whole,
      [&] {
        ExpectDeleted(pod, config);
        ExpectNothingButBridges();
      },
      options);

  EXPECT_GT(killed, 0);
}

TEST_F(OvsCniTest, GC_WhatIsNotValidAnyMoreGoes) {
  const json config = {{"cniVersion", "1.1.0"}, {"bridge", "br1"}};
  const TestPod stays = MakePod("stays");
  const TestPod goes = MakePod("goes");
  const std::string port = Added(stays, config);
  Added(goes, config);
  json gc = config;
  gc["cni.dev/valid-attachments"] =
      json::array({json{{"containerID", stays.container_id}, {"ifname", "eth0"}}});

  EXPECT_EQ(Run("GC", stays, Options(gc)).status, 0);

  EXPECT_EQ(OnlyNewPort(), port);
  EXPECT_EQ(Records().size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(CacheFile(stays)));
  EXPECT_FALSE(std::filesystem::exists(CacheFile(goes)));
}

TEST_F(OvsCniTest, STA_TheBridgeIsLookedFor) {
  const TestPod pod = MakePod("web");

  EXPECT_EQ(Run("STATUS", pod, Options({{"cniVersion", "1.1.0"}, {"bridge", "br1"}})).status, 0);
  EXPECT_THAT(Run("STATUS", pod, Options({{"cniVersion", "1.1.0"}, {"bridge", "br9"}})).out,
              HasSubstr("bridge br9 of Open vSwitch is missing"));
}

}  // namespace
}  // namespace kuryr::test
