#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "binding/netlink/route_socket.h"
#include "tests/cni/plugin/ovs_cni_fixture.h"

namespace kuryr::test {
namespace {

using binding::Netns;
using binding::RouteSocket;
using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

/// Pods that come by ovs-cni and go by us, and the other way round.
class OvsCniUnplugTest : public OvsCniTest {
 protected:
  static json Config() { return {{"cniVersion", "0.4.0"}, {"bridge", "br1"}, {"vlan", 100}}; }

  /// Makes what an ADD of ovs-cni leaves.
  void PlugAsOvsCni(const TestPod& pod, const std::string& port) {
    const Netns netns = Netns::Open(pod.netns);
    RouteSocket().CreateVeth({.name = port, .peer_name = "eth0", .peer_netns_fd = netns.fd()});
    ovs_->Vsctl({"add-port", "br1", port, "tag=100", "vlan_mode=access", "--", "set", "Port", port,
                 "external_ids:contNetns=" + pod.netns, "external_ids:contIface=eth0",
                 "external_ids:contPodUid=" + pod.uid,
                 "external_ids:owner=ovs-cni.network.kubevirt.io"});
    Keep(pod, Config());
  }
  void Keep(const TestPod& pod, const json& config) const {
    fs::create_directory(cache());
    fs::permissions(cache(), fs::perms::owner_all);
    std::ofstream(CacheFile(pod)) << json(
        {{"Netconf", config}, {"OrigIfName", ""}, {"UserspaceMode", false}});
    fs::permissions(CacheFile(pod), fs::perms::owner_read | fs::perms::owner_write);
  }
  void LoseNetns(const TestPod& pod) {
    ASSERT_EQ(::umount(pod.netns.c_str()), 0);
    fs::remove(pod.netns);
  }
  /// A folder of CNI_PATH whose plugin "fake" writes what it is called with.
  [[nodiscard]] std::string FakePlugin() const {
    const fs::path plugin = work_ / "plugins/fake";
    fs::create_directories(plugin.parent_path());
    std::ofstream(plugin) << "#!/bin/sh\necho $CNI_COMMAND $CNI_CONTAINERID >> " << Calls().string()
                          << "\ncat > /dev/null\n";
    fs::permissions(plugin, fs::perms::owner_all);
    return plugin.parent_path();
  }
  [[nodiscard]] fs::path Calls() const { return work_ / "calls"; }
};

TEST_F(OvsCniUnplugTest, APodThatOvsCniPluggedIsUnplugged) {
  const TestPod pod = MakePod("web");
  const TestPod other = MakePod("other");
  PlugAsOvsCni(pod, "vethaaaa");
  PlugAsOvsCni(other, "vethbbbb");
  json config = Config();
  config["ipam"]["type"] = "fake";

  for (int i = 0; i < 2; ++i) ExpectDeleted(pod, config, {{"CNI_PATH", FakePlugin()}});

  EXPECT_EQ(OnlyNewPort(), "vethbbbb");
  EXPECT_EQ(HostVeths().size(), 1U);
  EXPECT_TRUE(fs::exists(CacheFile(other)));
  EXPECT_THAT(Text(Calls()), HasSubstr("DEL " + pod.container_id));
}

/// As systemd-tmpfiles empties /tmp.
TEST_F(OvsCniUnplugTest, ItIsFoundWithoutOvsCnisCache) {
  const TestPod pod = MakePod("web");
  PlugAsOvsCni(pod, "vethaaaa");
  fs::remove_all(cache());

  ExpectDeleted(pod, Config());

  ExpectNothingButBridges();
}

TEST_F(OvsCniUnplugTest, TheNamespaceGone) {
  const TestPod pod = MakePod("web");
  PlugAsOvsCni(pod, "vethaaaa");
  LoseNetns(pod);

  ExpectDeleted(pod, Config());

  ExpectNothingButBridges();
}

TEST_F(OvsCniUnplugTest, NoNamespaceNamedAndTheDeviceGone) {
  const TestPod pod = MakePod("web");
  const TestPod living = MakePod("living");
  PlugAsOvsCni(pod, "vethaaaa");
  PlugAsOvsCni(living, "vethbbbb");
  RouteSocket().DeleteLink("vethaaaa");
  std::map<std::string, std::string> options = Options(Config());
  options["CNI_NETNS"] = "";

  for (const TestPod& each : {pod, living}) EXPECT_EQ(Run("DEL", each, options).status, 0);

  EXPECT_EQ(OnlyNewPort(), "vethbbbb");
}

TEST_F(OvsCniUnplugTest, AnotherContainersPortOfOursIsLeftAlone) {
  const TestPod pod = MakePod("web");
  const std::string port = Added(pod, {{"cniVersion", "1.0.0"}, {"bridge", "br1"}});
  TestPod late = pod;
  late.container_id = "late";

  EXPECT_EQ(Run("DEL", late, Options(Config())).status, 0);

  EXPECT_EQ(OnlyNewPort(), port);
  EXPECT_NE(LinkIn(pod, "eth0"), json());
}

TEST_F(OvsCniUnplugTest, WithOpenVSwitchDownADelFailsForWhatOvsCniKeptAlone) {
  const TestPod pod = MakePod("web");
  const TestPod never = MakePod("never");
  Keep(pod, Config());
  ovs_->StopVswitchd();
  ovs_->StopServer();

  EXPECT_EQ(Run("DEL", never, Options(Config())).status, 0);
  EXPECT_EQ(Run("DEL", pod, Options(Config())).status, 1);
  EXPECT_TRUE(fs::exists(CacheFile(pod)));
}

TEST_F(OvsCniUnplugTest, OursHaveWhatOvsCniFindsThemBy) {
  const TestPod pod = MakePod("web");
  json config = Config();
  config["socket_file"] = ovs_->remote();

  const std::string port = Added(pod, config);

  const std::string found = ovs_->Vsctl(
      {"--bare", "--columns=name", "find", "Port", "external_ids:contNetns=\"" + pod.netns + "\"",
       "external_ids:contIface=eth0", "external_ids:owner=ovs-cni.network.kubevirt.io"});
  EXPECT_EQ(found, port);
  const json kept = json::parse(Text(CacheFile(pod)));
  EXPECT_EQ(kept["Netconf"]["bridge"], "br1");
  EXPECT_EQ(kept["Netconf"]["vlan"], 100);
  EXPECT_EQ(kept["Netconf"]["socket_file"], ovs_->remote());
  EXPECT_EQ(kept["OrigIfName"], "");
}

TEST_F(OvsCniUnplugTest, OneThatOvsCniUnpluggedIsStillDeleted) {
  const TestPod pod = MakePod("web");
  const std::string port = Added(pod, Config());
  ovs_->Vsctl({"del-port", port});
  RouteSocket().DeleteLink(port);
  fs::remove(CacheFile(pod));

  ExpectDeleted(pod, Config());

  ExpectNothingButBridges();
}

TEST_F(OvsCniUnplugTest, TheSocketOfOvsConfWinsAndADelKnowsItWithoutOvsConf) {
  const TestPod pod = MakePod("web");
  const fs::path ovs_conf = work_ / "ovs.conf";
  std::ofstream(ovs_conf) << json({{"socket_file", ovs_->remote().substr(5)},
                                   {"link_state_check_retries", 5},
                                   {"link_state_check_interval", 1000}});
  json config = Config();
  config["configuration_path"] = ovs_conf;
  std::ofstream(work_ / "kuryr.conf")
      << "[cni_daemon]\nstate_dir = " << (work_ / "state").string()
      << "\ndaemon_enabled = false\n[os_vif_ovs]\novsdb_connection = unix:/run/no-such.sock\n"
      << "[ovs_cni]\ncache_dir = " << cache().string() << "\n";

  const std::string port = Added(pod, config);
  EXPECT_EQ(BridgeOf(port), "br1");
  fs::remove(ovs_conf);
  ExpectDeleted(pod, config);

  ExpectNothingButBridges();
}

TEST_F(OvsCniUnplugTest, ACacheThatOthersMayWriteInIsNotBelieved) {
  const TestPod pod = MakePod("web");
  Keep(pod, {{"socket_file", "/run/no-such.sock"}});
  fs::permissions(cache(), fs::perms::all);

  EXPECT_EQ(Run("DEL", pod, Options(Config())).status, 0);
}

}  // namespace
}  // namespace kuryr::test
