#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

/// Every failure of an ADD: its code, its message, and that it left nothing (FailedAdd looks).
class AddFailureTest : public PluginTest {
 protected:
  TestPod ActivePod() {
    TestPod pod = MakePod("nginx");
    Annotate(pod, Vif(pod, true));
    return pod;
  }
};

TEST_F(AddFailureTest, ADD_03_ANamespaceThatIsMissing) {
  const json error = FailedAdd(ActivePod(), {{"CNI_NETNS", "/run/netns/missing"}});

  EXPECT_EQ(error["code"], 4);
  EXPECT_THAT(error.dump(), HasSubstr("/run/netns/missing"));
  EXPECT_FALSE(std::filesystem::exists("/run/netns/missing"));
}

TEST_F(AddFailureTest, ADD_04_ANamespaceThatIsNone) {
  for (const char* path : {"/etc/hostname", "/", "/proc/self/ns/mnt"}) {
    EXPECT_EQ(FailedAdd(ActivePod(), {{"CNI_NETNS", path}})["code"], 4) << path;
    api_->Delete("pods", "default", "nginx");
  }
}

TEST_F(AddFailureTest, ADD_05_ThePluginsOwnNamespace) {
  EXPECT_EQ(FailedAdd(ActivePod(), {{"CNI_NETNS", "/proc/self/ns/net"}})["code"], 8);
}

TEST_F(AddFailureTest, ADD_01_02_AnInterfaceNameThatIsTaken) {
  const TestPod pod = ActivePod();
  RunIn(binding::Netns::Open(pod.netns), {"ip", "link", "add", "eth0", "type", "bridge"});

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 100);
  EXPECT_THAT(RunIn(binding::Netns::Open(pod.netns), {"ip", "-d", "link", "show", "eth0"}),
              HasSubstr("bridge"));
}

TEST_F(AddFailureTest, OpenVSwitchDown) {
  const TestPod pod = ActivePod();
  ovs_->StopVswitchd();
  ovs_->StopServer();
  const std::map<std::string, int> codes = {{"ovsdb_wait = 0\n", 5}, {"ovsdb_wait = 1\n", 11}};
  for (const auto& [option, code] : codes) {
    WriteConfig(DefaultKubernetes(), option);

    const ProcessResult result = Run("ADD", pod);

    EXPECT_EQ(result.status, 1);
    const json error = json::parse(result.out);
    EXPECT_EQ(error["code"], code);
    EXPECT_THAT(error["msg"], HasSubstr(ovs_->remote()));
    EXPECT_TRUE(HostVeths().empty());
    EXPECT_TRUE(Records().empty());
  }
}

TEST_F(AddFailureTest, OpenVSwitchThatIsRestartedIsNoFailure) {
  const TestPod pod = ActivePod();
  ovs_->StopServer();
  Process add(Call("ADD", pod,
                   {{"stdin", R"({"cniVersion":"1.0.0","debug":true,"kuryr_conf":")" +
                                  (work_ / "kuryr.conf").string() +
                                  R"(","name":"kuryr","type":"kuryr-cni"})"}}));
  add.WaitForOutput("ovsdb-server does not answer: waiting for it");

  ovs_->StartServer();

  const ProcessResult result = add.Wait();
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(AddFailureTest, OnlyAnAddWaitsForOpenVSwitch) {
  WriteConfig(DefaultKubernetes(), "ovsdb_wait = 3600\n");
  const TestPod pod = ActivePod();
  const auto run = [&](const std::string& command, const json& more) {
    json config = {{"cniVersion", "1.1.0"},
                   {"kuryr_conf", (work_ / "kuryr.conf").string()},
                   {"name", "kuryr"},
                   {"type", "kuryr-cni"}};
    config.update(more);
    return json::parse(Run(command, pod, {{"stdin", config.dump()}}).out);
  };
  const json result = run("ADD", json::object());
  ovs_->StopServer();

  // One that has waited answers 11.
  EXPECT_EQ(run("CHECK", {{"prevResult", result}})["code"], 5);
  EXPECT_THAT(std::string(run("STATUS", json::object())["msg"]), HasSubstr("No such file"));
  EXPECT_EQ(run("DEL", json::object())["code"], 5);
}

TEST_F(AddFailureTest, OpenVSwitchThatHangsIsNamedAtTheDeadline) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 7\n");
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));
  // From now on nothing but the deadline ends the wait for an event.
  ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events"));
  ovs_->vswitchd().Signal(SIGSTOP);
  Annotate(pod, Vif(pod, true));

  const ProcessResult result = add.Wait();
  ovs_->vswitchd().Signal(SIGCONT);

  const json error = json::parse(result.out);
  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"], HasSubstr("ovs-vswitchd"));
  EXPECT_THAT(error["msg"], Not(HasSubstr("annotation")));
}

TEST_F(AddFailureTest, NoSpaceForTheRecord) {
  const TestPod pod = ActivePod();
  const std::filesystem::path state = work_ / "state";
  std::filesystem::create_directory(state);
  ASSERT_EQ(::mount("state", state.c_str(), "tmpfs", 0, "size=4k,mode=0700"), 0);
  std::ofstream(state / "fills-it") << std::string(4096, 'x');

  const json error = FailedAdd(pod);
  ASSERT_EQ(::umount2(state.c_str(), MNT_DETACH), 0);

  EXPECT_EQ(error["code"], 5);
  EXPECT_THAT(error["msg"], HasSubstr("No space left"));
}

TEST_F(AddFailureTest, VswitchdDownSoThatThePortNeverComesUp) {
  const TestPod pod = ActivePod();
  ovs_->StopVswitchd();
  WriteConfig(DefaultKubernetes(), "ovs_vsctl_timeout = 1\n");

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"], HasSubstr(pod.tap));
}

TEST_F(AddFailureTest, WhatCannotBeUndoneIsKeptForTheDel) {
  const TestPod pod = ActivePod();
  WriteConfig(DefaultKubernetes(), "ovsdb_wait = 0\n");
  ovs_->vswitchd().Signal(SIGSTOP);
  Process add(Call("ADD", pod));
  ovs_->Vsctl({"--no-wait", "wait-until", "Interface", pod.tap});
  ovs_->StopServer();
  EXPECT_NE(add.Wait().status, 0);

  EXPECT_THAT(Records(), SizeIs(1));
  EXPECT_NE(Run("DEL", pod).status, 0) << "the port is still in the database";

  ovs_->vswitchd().Signal(SIGCONT);
  ovs_->StartServer();
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(AddFailureTest, WhatANewPlanCannotReplaceIsKeptForTheDel) {
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, false);
  Annotate(pod, vif);
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);
  ovs_->StopServer();
  vif["versioned_object.data"]["address"] = "fa:16:3e:00:00:01";
  Annotate(pod, vif);
  EXPECT_NE(add.Wait().status, 0);

  EXPECT_THAT(Records(), SizeIs(1));
  EXPECT_NE(Run("DEL", pod).status, 0) << "the port is still in the database";

  ovs_->StartServer();
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(AddFailureTest, ABridgeThatTheNodeDoesNotAllowIsRefusedByItsOption) {
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, true);
  vif["versioned_object.data"]["bridge_name"] = "br-own";
  Annotate(pod, vif);

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 102);
  EXPECT_THAT(error["msg"], HasSubstr("bridge \"br-own\" is not among [binding] bridges"));
  EXPECT_THAT(error["msg"], HasSubstr("\"bridges = br-int, br-own\" allows it"));
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-br"}), "");
}

TEST_F(AddFailureTest, ThePortOfALivingPodIsItsOwn) {
  const TestPod victim = MakePod("victim");
  Annotate(victim, Vif(victim, true));
  ASSERT_EQ(Run("ADD", victim).status, 0);
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, true);
  json& profile = vif["versioned_object.data"]["port_profile"]["versioned_object.data"];
  profile["interface_id"] = victim.port_id;
  Annotate(pod, vif);

  const ProcessResult refused = Run("ADD", pod);

  EXPECT_EQ(refused.status, 1);
  const json error = json::parse(refused.out);
  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"], HasSubstr("belongs to another pod of this node"));
  for (const std::string& told : {victim.name, victim.uid, victim.container_id, victim.mac})
    EXPECT_THAT(refused.out, Not(HasSubstr(told)));
  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-int"}), victim.tap);

  ASSERT_EQ(Run("DEL", victim).status, 0);
  EXPECT_EQ(Run("ADD", pod).status, 0) << "recycled";
}

TEST_F(AddFailureTest, ABridgeThatCannotBeMade) {
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, true);
  vif["versioned_object.data"]["bridge_name"] = "br-new";
  WriteConfig(DefaultKubernetes(), "[binding]\nbridges = br-new\n");
  RunOnHost({"sed", "-i", "s/^datapath_type = .*/datapath_type = no-such-type/",
             (work_ / "kuryr.conf").string()});
  Annotate(pod, vif);

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 5);
  EXPECT_THAT(error["msg"], HasSubstr("br-new"));
  EXPECT_EQ(ovs_->Vsctl({"--no-wait", "list-br"}), "");
}

TEST_F(AddFailureTest, ABridgeThatCannotBeMadeIsNamedWithTheVifsField) {
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, true);
  // Open vSwitch finds it suspicious.
  vif["versioned_object.data"]["bridge_name"] = "br\\x";
  WriteConfig(DefaultKubernetes(), "[binding]\nbridges = br\\x\n");
  Annotate(pod, vif);

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 5);
  EXPECT_THAT(error["msg"],
              MatchesRegex("ovs-vswitchd did not set up port tap.* on bridge br.x: .* "
                           "bridge_name of the VIF, or bridge of its network, gives"));
}

TEST_F(AddFailureTest, ADatapathTypeThatOpenVSwitchCannotDoIsNamed) {
  ovs_->Vsctl(
      {"--no-wait", "add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=nonsense"});
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 5);
  EXPECT_THAT(error["msg"],
              MatchesRegex("ovs-vswitchd did not set up port tap.* on bridge br-int, whose "
                           "datapath_type is nonsense; it can do [a-z, ]*netdev[a-z, ]*"));
}

TEST_F(AddFailureTest, TheApiServerDown) {
  const TestPod pod = ActivePod();
  WriteConfig(DefaultKubernetes() + "", "[cni_daemon]\nvif_annotation_timeout = 1\n");
  api_->StopListening();

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"], HasSubstr("default/nginx"));
  EXPECT_THAT(error["details"], HasSubstr("cannot connect"));
}

TEST_F(AddFailureTest, TheApiServerOfAnUnknownAuthority) {
  WriteConfig("api_root = " + api_->url() +
              "\nssl_ca_crt_file = " + fake::CertificateFile("other-ca.crt") + "\n");

  const json error = FailedAdd(ActivePod());

  EXPECT_EQ(error["code"], 103);
  EXPECT_THAT(error["msg"], HasSubstr("certificate"));
}

TEST_F(AddFailureTest, ATokenThatIsNotKnown) {
  std::ofstream(work_ / "token") << "s3cret";

  const json error = FailedAdd(ActivePod());

  EXPECT_EQ(error["code"], 103);
  EXPECT_THAT(error["msg"], HasSubstr("401"));
  EXPECT_THAT(error.dump(), Not(HasSubstr("s3cret")));
}

TEST_F(AddFailureTest, AnIdentityWithoutRights) {
  api_->SetUsers({{.name = "nobody", .token = kToken, .verbs = {}}});

  const json error = FailedAdd(ActivePod());

  EXPECT_EQ(error["code"], 103);
  EXPECT_THAT(error["msg"], HasSubstr("\"nobody\" cannot watch resource"));
}

TEST_F(AddFailureTest, AnAnnotationThatIsMalformed) {
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, true);
  vif["versioned_object.data"]["address"] = "not-a-mac";
  Annotate(pod, vif);

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 101);
  EXPECT_THAT(error["details"], HasSubstr("address"));

  AnnotateText(pod, "{");
  EXPECT_EQ(FailedAdd(pod)["code"], 101);
}

TEST_F(AddFailureTest, AVifOfATypeNotYetKnown) {
  const TestPod pod = MakePod("nginx");
  json vif = Vif(pod, true);
  vif["versioned_object.name"] = "VIFGeneric";
  vif["versioned_object.data"].erase("bridge_name");
  Annotate(pod, vif);

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 102);
  EXPECT_THAT(error["msg"], HasSubstr("VIFGeneric"));
}

TEST_F(AddFailureTest, AVifThatNeverBecomesActive) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 1\n");
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));

  const json error = FailedAdd(pod);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error["msg"], HasSubstr("active"));
  EXPECT_THAT(error["msg"], HasSubstr(pod.port_id));
}

TEST_F(AddFailureTest, ThePartThatIsMissingAtTheDeadlineIsNamed) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 1\n");
  ovs_->Vsctl(
      {"--no-wait", "set", "Open_vSwitch", ".", "external_ids:ovn-remote=\"tcp:192.0.2.1:6642\""});
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  const json unclaimed = FailedAdd(pod);
  EXPECT_EQ(unclaimed.value("code", 0), 11);
  EXPECT_THAT(unclaimed.value("msg", ""), HasSubstr("OVN has not claimed the port " + pod.tap));

  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);
  InstallAsOvn(pod);
  const json inactive = json::parse(add.Wait().out);
  EXPECT_EQ(inactive.value("code", 0), 11);
  EXPECT_THAT(inactive.value("msg", ""), HasSubstr("waited for its VIF to become active"));
  EXPECT_THAT(inactive.value("msg", ""), HasSubstr("OVN has claimed port " + pod.tap));
}

TEST_F(AddFailureTest, AnAnnotationThatNeverComesAndAPodThatIsNotThere) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nvif_annotation_timeout = 1\n");
  const TestPod pod = MakePod("nginx");

  EXPECT_THAT(FailedAdd(pod)["msg"],
              HasSubstr("annotation openstack.org/kuryr-vif on pod default/nginx"));

  api_->Delete("pods", "default", "nginx");
  EXPECT_EQ(FailedAdd(pod)["msg"], "pod default/nginx is gone");
  // Which one is meant, and that it was there, only a UID says.
  EXPECT_THAT(FailedAdd(pod, {{"CNI_ARGS", "K8S_POD_NAMESPACE=default;K8S_POD_NAME=nginx"}})["msg"],
              HasSubstr("to tell of pod default/nginx"));
}

TEST_F(AddFailureTest, ADD_16_APodDeletedOrReplacedMeanwhile) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  api_->Delete("pods", "default", "nginx");

  const ProcessResult result = add.Wait();
  EXPECT_EQ(json::parse(result.out)["code"], 3);
  ExpectNothingLeft();

  MakePod("nginx");
  EXPECT_EQ(FailedAdd(pod)["code"], 3);
}

TEST_F(AddFailureTest, ANameThatBelongsToTheNodeIsRefused) {
  RunOnHost({"ip", "link", "add", "uplink", "type", "bridge"});
  TestPod pod = MakePod("nginx");
  pod.tap = "uplink";
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(FailedAdd(pod)["code"], 11);
  EXPECT_THAT(RunOnHost({"ip", "link", "show", "uplink"}), HasSubstr("uplink"));
}

TEST_F(AddFailureTest, AConfigurationThatIsMalformed) {
  WriteConfig(DefaultKubernetes() + "ssl_verify_server_crt = perhaps\n");

  const json error = FailedAdd(ActivePod());

  EXPECT_EQ(error["code"], 7);
  EXPECT_THAT(error["msg"], HasSubstr("kuryr.conf: [kubernetes] ssl_verify_server_crt"));
}

TEST_F(AddFailureTest, STA_10_ASilentApiServerDoesNotHoldUpAStatus) {
  ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
               "datapath_type=" + std::string(PrivateOvs::datapath_type())});
  api_->Inject({.kind = fake::Fault::Kind::kSilence, .count = -1});

  const ProcessResult result =
      Run("STATUS", {},
          {{"stdin", R"({"cniVersion":"1.1.0","kuryr_conf":")" + (work_ / "kuryr.conf").string() +
                         R"(","name":"kuryr","type":"kuryr-cni"})"}});

  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(json::parse(result.out)["code"], 50) << result.out;
}

}  // namespace
}  // namespace kuryr::test
