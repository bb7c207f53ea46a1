#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/cni/agent/kuryr_port_fixture.h"

// Plans that change while their pods run. No test calls the plugin to make a change.

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class HotPlugTest : public KuryrPortTest {
 protected:
  static constexpr const char* kNetworkStatus = "network_status = true\n";

  void SetUp() override {
    PluginTest::SetUp();
    StartAgentWith(WithRepair("on"), kNetworkStatus);
  }
  TestPod Added(const std::string& name) {
    TestPod pod = MakePod(name);
    PlanNow(pod, {{"eth0", Vif(pod, true)}});
    EXPECT_EQ(Run("ADD", pod).status, 0);
    return pod;
  }
  void PlanNow(const TestPod& pod, const json& vifs) { AnnotateText(pod, vifs.dump()); }
  /// Another interface of the pod.
  static TestPod Second(const TestPod& pod, int number = 1) {
    TestPod second = pod;
    const std::string digit = std::to_string(number);
    second.port_id[0] = 'b';
    second.port_id[1] = digit[0];
    second.tap = "tap" + second.port_id.substr(0, 11);
    second.mac = "fa:16:3e:2a:" + digit + digit + pod.mac.substr(14);
    second.ip = "10.10.200." + digit;
    second.ip6 = "fd00:10::200:" + digit;
    return second;
  }
  json Two(const TestPod& pod) {
    return {{"eth0", Vif(pod, true)}, {"net1", Vif(Second(pod), true)}};
  }
  static json& Data(json& object, const char* key) { return object["versioned_object.data"][key]; }
  void WaitUntilPluggedIn(const std::string& ifname) { WaitFor("change=\"plugged " + ifname); }
  static std::string Inside(const TestPod& pod, const std::vector<std::string>& argv) {
    return RunIn(binding::Netns::Open(pod.netns), argv);
  }
  static std::string Links(const TestPod& pod) { return Inside(pod, {"ip", "-brief", "address"}); }
  static json Config(const std::filesystem::path& conf, const json& previous) {
    return {{"cniVersion", "1.0.0"},
            {"kuryr_conf", conf.string()},
            {"name", "kuryr"},
            {"type", "kuryr-cni"},
            {"prevResult", previous}};
  }
  /// The next CHECK, with the result of the pod's ADD.
  ProcessResult CheckWith(const TestPod& pod, const json& result) {
    return Run("CHECK", pod, {{"stdin", Config(work_ / "kuryr.conf", result).dump()}});
  }
  json AddedResult(const TestPod& pod) {
    json config = Config(work_ / "kuryr.conf", nullptr);
    config.erase("prevResult");
    return Answer(Run("ADD", pod, {{"stdin", config.dump()}}));
  }
  [[nodiscard]] std::string EventsAfter(size_t count) const {
    EXPECT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events", count));
    std::string all;
    for (const json& event : api_->List("events", "default"))
      all += event["reason"].get<std::string>() + ": " + event["message"].get<std::string>() + "\n";
    return all;
  }
};

TEST_F(HotPlugTest, AVifThatIsAddedToThePlanIsPlugged) {
  const TestPod pod = MakePod("a");
  PlanNow(pod, {{"eth0", Vif(pod, true)}});
  const json result = AddedResult(pod);
  const std::string before = Inside(pod, {"ip", "-oneline", "link", "show", "dev", "eth0"});

  PlanNow(pod, Two(pod));
  WaitUntilPluggedIn("net1");

  EXPECT_THAT(Ports(), UnorderedElementsAre(pod.tap, Second(pod).tap));
  EXPECT_THAT(Links(pod), HasSubstr(Second(pod).ip + "/16"));
  EXPECT_EQ(Inside(pod, {"ip", "-oneline", "link", "show", "dev", "eth0"}), before);
  EXPECT_EQ(CheckWith(pod, result).status, 0);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(HotPlugTest, AVifThatIsTakenFromThePlanIsUnplugged) {
  const TestPod pod = MakePod("a");
  PlanNow(pod, Two(pod));
  const json result = AddedResult(pod);

  PlanNow(pod, {{"eth0", Vif(pod, true)}});
  WaitFor("change=\"unplugged net1");

  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
  EXPECT_THAT(Links(pod), Not(HasSubstr("net1")));
  EXPECT_EQ(CheckWith(pod, result).status, 0);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(HotPlugTest, TheInterfaceIsRepairedFromThenOn) {
  const TestPod pod = Added("a");
  PlanNow(pod, Two(pod));
  WaitUntilPluggedIn("net1");

  ovs_->Vsctl({"del-port", Second(pod).tap});
  WaitFor("outcome=repaired");

  EXPECT_THAT(Ports(), UnorderedElementsAre(pod.tap, Second(pod).tap));
}

TEST_F(HotPlugTest, TheNetworkStatusFollows) {
  const TestPod pod = Added("a");

  PlanNow(pod, Two(pod));
  WaitUntilPluggedIn("net1");
  PlanNow(pod, {{"eth0", Vif(pod, true)}});

  // The agent writes one by one.
  EXPECT_THAT(EventsAfter(2), HasSubstr("CNIPlanFollowed: Now: plugged net1 (10.10.200.1"));
  const std::string status = (*api_->Get(
      "pods", "default", "a"))["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"];
  EXPECT_THAT(status, HasSubstr(R"("interface":"eth0")"));
  EXPECT_THAT(status, Not(HasSubstr(R"("interface":"net1")")));
}

TEST_F(HotPlugTest, APlanThatIsGoneUnplugsNothing) {
  const TestPod pod = MakePod("a");
  PlanNow(pod, Two(pod));
  ASSERT_EQ(Run("ADD", pod).status, 0);

  AnnotateText(pod, "{}");
  AnnotateText(pod, "nonsense");
  PlanNow(pod, {{"net1", Vif(Second(pod), true)}});
  api_->Patch("pods", "default", "a",
              {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", nullptr}}}}}});
  const TestPod later = Added("b");
  PlanNow(later, {{"eth0", Vif(later, true)}, {"net1", Vif(Second(later, 2), true)}});
  WaitUntilPluggedIn("net1");

  EXPECT_THAT(Ports(), Contains(pod.tap));
  EXPECT_THAT(Ports(), Contains(Second(pod).tap));
}

TEST_F(HotPlugTest, AddressesAndMtuChangeInPlace) {
  const TestPod pod = MakePod("a");
  PlanNow(pod, Two(pod));
  const json result = AddedResult(pod);

  json changed = Vif(Second(pod, 1), true);
  TestPod moved = Second(pod);
  moved.ip = "10.10.200.9";
  changed = Vif(moved, true);
  Data(changed, "network")["versioned_object.data"]["mtu"] = 1400;
  PlanNow(pod, {{"eth0", Vif(pod, true)}, {"net1", changed}});
  WaitFor("change=\"changed net1");

  EXPECT_THAT(Links(pod), HasSubstr("10.10.200.9/16"));
  EXPECT_THAT(Links(pod), Not(HasSubstr("10.10.200.1/16")));
  EXPECT_THAT(Inside(pod, {"ip", "link", "show", "dev", "net1"}), HasSubstr("mtu 1400"));
  EXPECT_THAT(RunOnHost({"ip", "link", "show", "dev", moved.tap}), HasSubstr("mtu 1400"));
  EXPECT_EQ(CheckWith(pod, result).status, 0);
}

TEST_F(HotPlugTest, AnotherMacNeedsANewPod) {
  const TestPod pod = Added("a");
  TestPod other = pod;
  other.mac = "fa:16:3e:77:77:77";

  PlanNow(pod, {{"eth0", Vif(other, true)}});

  WaitFor(
      "The plan has changed, and the running pod keeps what it has: eth0 is planned with "
      "another MAC address, which needs a new pod");
  EXPECT_THAT(Inside(pod, {"ip", "link", "show", "dev", "eth0"}), HasSubstr(pod.mac));
}

TEST_F(HotPlugTest, TheDefaultVifIsNeverUnplugged) {
  const TestPod pod = Added("a");

  PlanNow(pod, {{"eth0", Vif(Second(pod), true)}});

  WaitFor("eth0 is another default interface, which needs a new pod");
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(HotPlugTest, ANameThatThePodUsesIsRefused) {
  const TestPod pod = Added("a");
  Inside(pod, {"ip", "link", "add", "net1", "type", "veth", "peer", "name", "net2"});

  PlanNow(pod, Two(pod));
  WaitFor("the node could not follow it: net1: ");

  EXPECT_THAT(Links(pod), HasSubstr("net1@net2"));
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(HotPlugTest, AHostInterfaceOfTheSamePodIsRefused) {
  const TestPod pod = Added("a");
  TestPod second = Second(pod);
  second.tap = pod.tap;

  PlanNow(pod, {{"eth0", Vif(pod, true)}, {"net1", Vif(second, true)}});

  WaitFor("which another interface of the pod has");
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(HotPlugTest, ReportsAndChangesNothing) {
  StopAgent(SIGTERM);
  StartAgentWith(WithRepair("report"), kNetworkStatus);
  const TestPod pod = Added("a");
  const TestPod other = Added("b");

  PlanNow(pod, Two(pod));
  PlanNow(other, {{"eth0", Vif(other, true)}, {"net1", Vif(Second(other, 2), true)}});

  EXPECT_THAT(EventsAfter(2), HasSubstr("CNIDiffers: Not as it is planned now: net1 is planned"));
  EXPECT_THAT(Ports(), UnorderedElementsAre(pod.tap, other.tap));
}

TEST_F(HotPlugTest, AKuryrPortIsReadAgainWhenItsPodSaysSo) {
  const TestPod pod = MakePod("a");
  api_->Create(PortOf(pod, Vifs(Vif(pod, true))));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  json vifs = Vifs(Vif(pod, true));
  vifs["net1"] = {{"default", false}, {"vif", Vif(Second(pod), true)}};
  PlanVifs(pod, vifs);

  api_->Patch("pods", "default", "a",
              {{"metadata", {{"annotations", {{"kuryr.openstack.org/planned-interfaces", "1"}}}}}});
  WaitUntilPluggedIn("net1");
  PlanVifs(pod, {{"net1", nullptr}});
  api_->Patch("pods", "default", "a",
              {{"metadata", {{"annotations", {{"kuryr.openstack.org/planned-interfaces", "2"}}}}}});
  WaitFor("change=\"unplugged net1");

  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(HotPlugTest, APlanThatChangedWhileTheAgentWasDownIsFollowed) {
  const TestPod pod = Added("a");
  StopAgent(SIGTERM);
  PlanNow(pod, Two(pod));

  StartAgentWith(WithRepair("on"), kNetworkStatus);
  WaitUntilPluggedIn("net1");

  EXPECT_THAT(Ports(), UnorderedElementsAre(pod.tap, Second(pod).tap));
}

TEST_F(HotPlugTest, AnAgentThatIsKilledLeavesNothing) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> moment(90, 150);
  for (int round = 0; round < 12 && !HasFailure(); ++round) {
    const TestPod pod = Added("a" + std::to_string(round));
    PlanNow(pod, Two(pod));
    // The moment is what is tested: the change begins 100 ms after the event.
    std::this_thread::sleep_for(std::chrono::milliseconds(moment(random)));
    StopAgent(SIGKILL);
    StartAgentWith(WithRepair("on"), kNetworkStatus);
    if (round % 2 == 0) {
      json three = Two(pod);
      three["net2"] = Vif(Second(pod, 2), true);
      PlanNow(pod, three);
      WaitUntilPluggedIn("net2");
      EXPECT_THAT(Links(pod), HasSubstr(Second(pod).ip + "/16"));
    }
    EXPECT_EQ(Run("DEL", pod).status, 0);
    ExpectNothingLeft();
  }
}

TEST_F(HotPlugTest, WaitsForOvsVswitchd) {
  const TestPod pod = Added("a");
  ovs_->StopVswitchd();

  PlanNow(pod, Two(pod));
  WaitFor("an attachment waits for Open vSwitch");
  EXPECT_THAT(Links(pod), Not(HasSubstr("net1")));
  ovs_->StartVswitchd();
  WaitUntilPluggedIn("net1");

  EXPECT_THAT(Metrics(),
              HasSubstr("kuryr_daemon_hot_plugs_total{change=\"plugged\",outcome=\"done\"} 1\n"));
}

}  // namespace
}  // namespace kuryr::test
