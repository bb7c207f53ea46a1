#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tests/cni/plugin/plugin_fixture.h"
#include "tests/support/frame_capture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Truly;

class AddTest : public PluginTest {
 protected:
  [[nodiscard]] static json IpJson(const TestPod& pod, const std::vector<std::string>& what) {
    std::vector<std::string> argv = {"ip", "-json"};
    argv.insert(argv.end(), what.begin(), what.end());
    return json::parse(RunIn(binding::Netns::Open(pod.netns), argv));
  }
};

/// The port of Kuryr's own documentation: tap2faf4e00-fc, fa:16:3e:29:cf:9e, 10.10.1.8/16
/// via 10.10.0.254.
TEST_F(AddTest, TheAnnotationOfAugust2017BecomesAnInterface) {
  TestPod pod = MakePod("nginx");
  pod.tap = "tap2faf4e00-fc";
  pod.mac = "fa:16:3e:29:cf:9e";
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForWatches(2));
  Annotate(pod, Vif(pod, false));
  WaitUntilPlugged(pod);
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = add.Wait();

  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const json printed = json::parse(result.out);
  EXPECT_EQ(printed["cniVersion"], "0.3.1");
  EXPECT_EQ(printed["interfaces"][1],
            (json{{"name", "eth0"}, {"mac", "fa:16:3e:29:cf:9e"}, {"sandbox", pod.netns}}));
  EXPECT_EQ(printed["ips"][0], (json{{"version", "4"},
                                     {"address", "10.10.1.8/16"},
                                     {"gateway", "10.10.0.254"},
                                     {"interface", 1}}));

  const json link = IpJson(pod, {"link", "show", "eth0"})[0];
  EXPECT_EQ(link["address"], "fa:16:3e:29:cf:9e");
  EXPECT_EQ(link["mtu"], 1500);
  const json addresses = IpJson(pod, {"address", "show", "eth0"})[0]["addr_info"];
  EXPECT_EQ(addresses[0]["local"], "10.10.1.8");
  EXPECT_EQ(addresses[0]["prefixlen"], 16);
  EXPECT_EQ(IpJson(pod, {"route", "show", "default"})[0]["gateway"], "10.10.0.254");
  const json host = json::parse(RunOnHost({"ip", "-json", "link", "show", "tap2faf4e00-fc"}))[0];
  EXPECT_EQ(host["mtu"], 1500);
  EXPECT_THAT(host["flags"].get<std::vector<std::string>>(), ::testing::Contains("UP"));
  EXPECT_EQ(printed["interfaces"][0]["mac"], host["address"]);

  EXPECT_THAT(ovs_->Vsctl({"list-ports", "br-int"}), "tap2faf4e00-fc");
  const auto external_id = [&](const std::string& key) {
    return ovs_->Vsctl({"get", "Interface", pod.tap, "external_ids:" + key});
  };
  EXPECT_EQ(external_id("iface-id"), "\"" + pod.port_id + "\"");
  EXPECT_EQ(external_id("iface-status"), "active");
  EXPECT_EQ(external_id("attached-mac"), "\"fa:16:3e:29:cf:9e\"");
  EXPECT_EQ(external_id("vm-uuid"), "\"" + pod.uid + "\"");
}

TEST_F(AddTest, PlugsBeforeThePortIsActiveAndAnswersOnlyAfter) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));

  WaitUntilPlugged(pod);

  EXPECT_THROW((void)add.Wait(std::chrono::milliseconds(100)), std::system_error);
  Annotate(pod, Vif(pod, true));
  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(AddTest, AnswersOnlyWhenOvnHasClaimedThePort) {
  ovs_->Vsctl(
      {"--no-wait", "set", "Open_vSwitch", ".", "external_ids:ovn-remote=\"tcp:192.0.2.1:6642\""});
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  EXPECT_THROW((void)add.Wait(std::chrono::milliseconds(100)), std::system_error);
  InstallAsOvn(pod);
  EXPECT_EQ(add.Wait().status, 0);
}

TEST_F(AddTest, AnnouncesTheAddressesOnceOvnHasClaimedThePort) {
  ovs_->Vsctl(
      {"--no-wait", "set", "Open_vSwitch", ".", "external_ids:ovn-remote=\"tcp:192.0.2.1:6642\""});
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);
  std::optional<FrameCapture> capture;
  {
    const binding::NetnsGuard guard(binding::Netns::Open(pod.netns));
    capture.emplace("eth0");
  }
  const auto is_arp = [](const Frame& frame) { return frame.protocol == ETH_P_ARP; };
  EXPECT_THROW((void)add.Wait(std::chrono::milliseconds(100)), std::system_error);
  EXPECT_THAT(capture->Take(), Each(Not(Truly(is_arp))));

  InstallAsOvn(pod);

  EXPECT_EQ(add.Wait().status, 0);
  EXPECT_THAT(capture->Take(), Contains(Truly(is_arp)));
}

TEST_F(AddTest, VER_06_TheResultIsInTheAskedVersion) {
  for (const char* version : {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"}) {
    const TestPod pod = MakePod("p" + std::to_string(pods_made_));
    Annotate(pod, Vif(pod, true));

    const ProcessResult result =
        Run("ADD", pod,
            {{"stdin", R"({"cniVersion":")" + std::string(version) +
                           R"(","name":"kuryr","type":"kuryr-cni","kuryr_conf":")" +
                           (work_ / "kuryr.conf").string() + "\"}"}});

    ASSERT_EQ(result.status, 0) << result.out << result.err;
    const json printed = json::parse(result.out);
    EXPECT_EQ(printed["cniVersion"], version);
    EXPECT_EQ(printed.contains("ip4"), version < std::string("0.3.0"));
  }
}

TEST_F(AddTest, AStaticPodIsKnownByTheHashOfItsManifest) {
  TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  pod.uid = "1c2d3e4f5a6b";
  api_->Patch("pods", "default", "nginx",
              {{"metadata", {{"annotations", {{"kubernetes.io/config.hash", pod.uid}}}}}});
  EXPECT_EQ(FailedAdd(pod)["code"], 3) << "it is no mirror";

  api_->Patch("pods", "default", "nginx",
              {{"metadata",
                {{"annotations", {{"kubernetes.io/config.mirror", pod.uid}}},
                 {"ownerReferences", {{{"kind", "Node"}, {"name", "node1"}}}}}}});
  EXPECT_EQ(Run("ADD", pod).status, 0);
}

TEST_F(AddTest, AnEventOfAnotherPodIsNotTakenForThisOnes) {
  const TestPod pod = MakePod("nginx");
  const TestPod other = MakePod("other");
  Process add(Call("ADD", pod));
  ASSERT_TRUE(api_->WaitForWatches(2));
  json object = *api_->Get("pods", "default", "other");
  object["metadata"]["annotations"]["openstack.org/kuryr-vif"] = Vif(other, true).dump();
  api_->SendToWatches(json{{"type", "MODIFIED"}, {"object", object}}.dump() + "\n");
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = add.Wait();

  ASSERT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(json::parse(result.out)["ips"][0]["address"], HasSubstr(pod.ip + "/"));
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(AddTest, SeveralVifsArePluggedOrNone) {
  const TestPod pod = MakePod("nginx");
  TestPod second = MakePod("other");
  json map = {{"eth0", Vif(pod, true)}, {"net1", Vif(second, true)}};
  AnnotateText(pod, map.dump());

  const ProcessResult result = Run("ADD", pod);

  ASSERT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(json::parse(result.out)["interfaces"].size(), 4U);
  EXPECT_EQ(Ports().size(), 2U);
  EXPECT_EQ(IpJson(pod, {"route", "show", "default"}).size(), 1U);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();

  // The second one of the two belongs to a pod of its own now.
  Annotate(second, Vif(second, true));
  second.container_id = pod.container_id + "b";
  ASSERT_EQ(Run("ADD", second).status, 0);
  EXPECT_EQ(Run("ADD", pod).status, 1);
  EXPECT_THAT(Ports(), ElementsAre(second.tap));
}

TEST_F(AddTest, AVifThatIsReplacedWhileItIsWaitedForIsPluggedAnew) {
  const TestPod pod = MakePod("nginx");
  TestPod moved = pod;
  moved.tap = "tapmoved";
  Process add(Call("ADD", pod));
  Annotate(pod, Vif(pod, false));
  WaitUntilPlugged(pod);

  Annotate(pod, Vif(moved, true));

  ASSERT_EQ(add.Wait().status, 0);
  EXPECT_THAT(Ports(), ElementsAre("tapmoved"));
}

TEST_F(AddTest, ADD_12_ASecondAddOfAnAttachmentIsRefusedAndTheFirstStands) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);

  const ProcessResult second = Run("ADD", pod);

  EXPECT_EQ(second.status, 1);
  EXPECT_EQ(json::parse(second.out)["code"], 100);
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
  EXPECT_EQ(Records().size(), 1U);
}

TEST_F(AddTest, ANewSandboxOfTheSamePodTakesThePortOver) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  TestPod sandbox = pod;
  sandbox.container_id = std::string(64, 'd');
  sandbox.netns = MakePodNetnsPath();

  ASSERT_EQ(Run("ADD", sandbox).status, 0);

  // DEL-12: the older sandbox's late DEL leaves the newer one alone.
  EXPECT_EQ(Run("DEL", pod).status, 0);
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
  EXPECT_EQ(IpJson(sandbox, {"link", "show", "eth0"}).size(), 1U);
  EXPECT_EQ(Run("DEL", sandbox).status, 0);
  ExpectNothingLeft();
}

TEST_F(AddTest, ATapOfAnotherPodIsNotTakenOver) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  TestPod thief = MakePod("thief");
  thief.tap = pod.tap;
  Annotate(thief, Vif(thief, true));

  const ProcessResult result = Run("ADD", thief);

  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(json::parse(result.out)["code"], 11);
  EXPECT_THAT(result.out, HasSubstr(pod.tap));
  for (const std::string& secret : {std::string("nginx"), pod.uid, pod.container_id, pod.mac})
    EXPECT_THAT(result.out, Not(HasSubstr(secret)));
  EXPECT_THAT(result.err, HasSubstr(pod.uid)) << "the log says it";
  EXPECT_EQ(IpJson(pod, {"link", "show", "eth0"}).size(), 1U);
}

TEST_F(AddTest, APortOfAnotherPodIsRefusedWithoutAWordOfIt) {
  const TestPod pod = MakePod("victim");
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  ovs_->Vsctl({"--no-wait", "add-port", "br-int", "taptunnel0", "--", "set", "Interface",
               "taptunnel0", "type=vxlan", "options:remote_ip=192.0.2.1",
               "external_ids:kuryr-container-id=" + pod.container_id,
               "external_ids:vm-uuid=" + pod.uid, "external_ids:iface-id=" + pod.port_id,
               "external_ids:attached-mac=\"" + pod.mac + "\""});
  TestPod thief = MakePod("thief");
  thief.tap = "taptunnel0";
  Annotate(thief, Vif(thief, true));

  const ProcessResult result = Run("ADD", thief);

  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("taptunnel0"));
  for (const std::string& secret : {pod.uid, pod.container_id, pod.port_id, pod.mac})
    EXPECT_THAT(result.out, Not(HasSubstr(secret)));
  EXPECT_THAT(result.err, HasSubstr(pod.port_id)) << "the log says it";
}

}  // namespace
}  // namespace kuryr::test
