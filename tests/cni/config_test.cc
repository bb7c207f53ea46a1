#include "cni/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/log.h"
#include "cni/attachments/process.h"
#include "cni/protocol/error.h"
#include "tests/support/paths.h"

namespace kuryr::cni {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string pattern = ::testing::TempDir() + "kuryr-conf-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~ConfigTest() override { std::filesystem::remove_all(dir_); }

  std::string File(const std::string& name, const std::string& text) {
    const auto path = dir_ / name;
    std::ofstream(path) << text;
    return path;
  }
  /// A kubeconfig whose cluster, user and context have this name.
  std::string Kubeconfig(const std::string& name, const std::string& user,
                         const std::string& cluster = "certificate-authority-data: LS0tQ0E=") {
    return File(name + ".kubeconfig", "current-context: " + name + "\ncontexts: [{name: " + name +
                                          ", context: {cluster: " + name + ", user: " + name +
                                          "}}]\n" + "clusters: [{name: " + name +
                                          ", cluster: {server: 'https://" + name + ":6443', " +
                                          cluster + "}}]\nusers: [{name: " + name + ", user: {" +
                                          user + "}}]\n");
  }
  Config Load(const std::vector<std::string>& files) {
    return LoadConfig(files, [this](const char* name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }
  std::string Refusal(const std::string& text) {
    try {
      (void)Load({File("bad.conf", text)});
    } catch (const CniError& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidConfig);
      return e.what();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }

  std::filesystem::path dir_;
  std::map<std::string, std::string> environment_;
};

TEST_F(ConfigTest, EveryOptionIsRead) {
  const std::string token = File("token", "t");
  const Config config =
      Load({File("a.conf",
                 "[DEFAULT]\ndebug = True\nlog_file = /tmp/x.log\n"
                 "[kubernetes]\napi_root = https://[::1]:6443\ntoken_file = " +
                     token + "\nssl_ca_crt_file = " + token +
                     "\nssl_verify_server_crt = no\nwatch_connection_timeout = 3\n"
                     "watch_read_timeout = 5\nwatch_retry_timeout = 3600\n"
                     "use_events = false\nnetwork_status = true\nvif_source = kuryrport\n"
                     "[cni_daemon]\nvif_annotation_timeout = 200\nstate_dir = /tmp/state\n"
                     "agent_wait = 0\nrepair = report\n"
                     "[cni_health_server]\nbind_address = ::1\nport = 0\n"
                     "[os_vif_ovs]\novsdb_connection = tcp:127.0.0.1:6640\novsdb_wait = 0\n"
                     "ovs_vsctl_timeout = 7\ndatapath_type = netdev\nisolate_vif = "
                     "true\nport_security = false\n"
                     "default_qos_type =\nwait_for_wiring = ovn\ntransient_ports = false\n"
                     "[neutron_defaults]\nnetwork_device_mtu = 1400\n"
                     "[binding]\nlink_iface = ens3\ndrivers = ovs\nbridges = br-int , br-ex,\n"
                     "[vhostuser]\nmount_point = /run/vhost\novs_vhu_path = /run/ovs\n"
                     "[nested_dpdk]\ndpdk_driver = vfio-pci\npci_mount_point = /run/pci\n"
                     "[devices]\nkubelet_dir = /run/kubelet\nsysfs = /run/sys\n"
                     "[ovs_cni]\ncache_dir = /run/ovscache\n"
                     "[sriov]\nkubelet_root_dir = /var/lib/other\n"
                     "device_plugin_resource_prefix = openshift.io\n"
                     "physnet_resource_mappings = net1:port_a, net2:example.com/b\n")});

  EXPECT_TRUE(config.program.debug);
  EXPECT_EQ(config.program.log_file, "/tmp/x.log");
  EXPECT_EQ(config.api.api_root, "https://[::1]:6443");
  EXPECT_EQ(config.api.token.file, token);
  EXPECT_EQ(config.api.ca.file, token);
  EXPECT_FALSE(config.api.verify_server);
  EXPECT_EQ(config.api.connect_timeout, std::chrono::seconds(3));
  EXPECT_EQ(config.api.read_timeout, std::chrono::seconds(5));
  EXPECT_EQ(config.api.retry_timeout, std::chrono::seconds(3600));
  EXPECT_FALSE(config.reports.use_events);
  EXPECT_TRUE(config.reports.network_status);
  EXPECT_EQ(config.vif_source, VifSource::kKuryrPort);
  EXPECT_EQ(config.agent_wait, std::chrono::seconds(0));
  EXPECT_EQ(config.repair, RepairMode::kReport);
  EXPECT_EQ(config.binding.ovsdb_wait, std::chrono::seconds(0));
  EXPECT_EQ(config.vif_annotation_timeout, std::chrono::seconds(200));
  EXPECT_EQ(config.state_dir, "/tmp/state");
  EXPECT_EQ(config.binding.vf_folder, "/tmp/state/vfs/" + BootId());
  EXPECT_EQ(config.program.health_address, "::1");
  EXPECT_EQ(config.program.health_port, 0U);
  EXPECT_EQ(config.binding.ovsdb_connection, "tcp:127.0.0.1:6640");
  EXPECT_EQ(config.binding.ovs_timeout, std::chrono::seconds(7));
  EXPECT_EQ(config.binding.datapath_type, "netdev");
  EXPECT_TRUE(config.binding.isolate_vif);
  EXPECT_FALSE(config.binding.port_security);
  EXPECT_EQ(config.binding.wait_for_wiring, binding::WaitForWiring::kOvn);
  EXPECT_EQ(config.binding.default_qos_type, "");
  EXPECT_EQ(config.transient_ports, false);
  EXPECT_FALSE(config.binding.transient_ports);
  EXPECT_EQ(config.binding.network_device_mtu, 1400U);
  EXPECT_EQ(config.binding.link_iface, "ens3");
  EXPECT_THAT(config.binding.drivers, ::testing::ElementsAre("ovs"));
  EXPECT_THAT(config.binding.bridges, ::testing::ElementsAre("br-int", "br-ex"));
  EXPECT_EQ(config.binding.vhostuser_mount_point, "/run/vhost");
  EXPECT_EQ(config.binding.ovs_vhu_path, "/run/ovs");
  EXPECT_EQ(config.binding.dpdk_driver, "vfio-pci");
  EXPECT_EQ(config.devices.kubelet_dir, "/run/kubelet");
  EXPECT_EQ(config.ovs_cni_cache_dir, "/run/ovscache");
  EXPECT_THAT(config.devices.resources,
              ::testing::ElementsAre(::testing::Pair("net1", "openshift.io/port_a"),
                                     ::testing::Pair("net2", "example.com/b")));
  EXPECT_EQ(config.binding.pci_mount_point, "/run/pci");
  EXPECT_EQ(config.binding.sysfs, "/run/sys");
}

TEST_F(ConfigTest, PoolsOfTheSameFileNameTheirDriversAndBridges) {
  const Config config = Load({File("pools.conf",
                                   "[neutron_defaults]\novs_bridge = br-data\n"
                                   "[pool:blue]\ncidr = 10.0.0.0/24\nbridge = br-blue\n"
                                   "[pool:lan]\nvif = bridge\nbridge = br-lan\nvlan = 7\n"
                                   "bridge_interface = eth1\n"
                                   "[pool:plain]\nvif =\n"
                                   "[pool:trunk]\nvif = vlan\n")});

  using ::testing::ElementsAre;
  EXPECT_EQ(config.binding.ovs_bridge, "br-data");
  EXPECT_THAT(config.binding.named.drivers, ElementsAre("ovs", "bridge", "ovs", "nested"));
  EXPECT_THAT(config.binding.named.ovs_bridges, ElementsAre("br-blue", "br-int"));
  EXPECT_THAT(config.binding.named.kernel_bridges, ElementsAre("br-lan"));
  EXPECT_THAT(config.binding.named.uplinks, ElementsAre("eth1"));
}

TEST_F(ConfigTest, AMalformedPoolNamesNothingAndStopsNoCall) {
  const Config config = Load({File("malformed.conf",
                                   "[pool:a]\nvif = tap\n[pool:b]\nvif = bridge\n"
                                   "[pool:c]\nbridge = a-name-too-long-by-far\n"
                                   "[pool:d]\nbridge = br-d\n")});

  EXPECT_THAT(config.binding.named.drivers, ::testing::ElementsAre("ovs"));
  EXPECT_THAT(config.binding.named.ovs_bridges, ::testing::ElementsAre("br-d"));
  EXPECT_THAT(config.binding.named.kernel_bridges, ::testing::IsEmpty());
}

TEST_F(ConfigTest, TheFileWeShipIsAllDefaults) {
  const Config shipped = Load({test::TestData() + "/../../etc/kuryr.conf"});
  const Config defaults = Load({File("empty.conf", "")});

  EXPECT_EQ(shipped.api.api_root, defaults.api.api_root);
  EXPECT_TRUE(shipped.api.verify_server);
  EXPECT_EQ(shipped.state_dir, "/run/kuryr");
  EXPECT_EQ(shipped.vif_annotation_timeout, std::chrono::seconds(60));
  EXPECT_EQ(shipped.agent_wait, std::chrono::seconds(10));
  EXPECT_EQ(shipped.repair, RepairMode::kOn);
  EXPECT_EQ(shipped.program.health_address, "127.0.0.1");
  EXPECT_EQ(shipped.program.health_port, 8090U);
  EXPECT_EQ(shipped.binding.ovsdb_connection, "unix:/var/run/openvswitch/db.sock");
  EXPECT_EQ(shipped.binding.ovsdb_wait, std::chrono::seconds(10));
  EXPECT_EQ(shipped.binding.vhostuser_mount_point, "/var/cni/vhostuser");
  EXPECT_EQ(shipped.binding.ovs_vhu_path, "/var/run/openvswitch");
  EXPECT_EQ(shipped.binding.dpdk_driver, "uio_pci_generic");
  EXPECT_EQ(shipped.devices.kubelet_dir, "/var/lib/kubelet");
  EXPECT_EQ(shipped.ovs_cni_cache_dir, "/tmp/ovscache");
  EXPECT_EQ(shipped.binding.pci_mount_point, "/var/pci_address");
  EXPECT_EQ(shipped.binding.sysfs, "/sys");
}

TEST_F(ConfigTest, AnOptionWithoutAValueIsNotSet) {
  const Config config = Load({File("a.conf",
                                   "[vhostuser]\nmount_point =\n"
                                   "[nested_dpdk]\ndpdk_driver =\n[cni_daemon]\nstate_dir =\n")});

  EXPECT_EQ(config.binding.vhostuser_mount_point, "/var/cni/vhostuser");
  EXPECT_EQ(config.binding.dpdk_driver, "uio_pci_generic");
  EXPECT_EQ(config.state_dir, "/run/kuryr");
}

TEST_F(ConfigTest, AMappingThatIsNoPairIsRefused) {
  for (const std::string pair : {"net1", ":port_a", "net1:", ":"}) {
    EXPECT_THAT(Refusal("[sriov]\nphysnet_resource_mappings = net2:port_b, " + pair + "\n"),
                HasSubstr("bad.conf: [sriov] physnet_resource_mappings: \"" + pair +
                          "\"; expected PHYSNET:RESOURCE"));
  }
}

TEST_F(ConfigTest, ALaterFileWins) {
  const std::string first =
      File("1.conf", "[kubernetes]\napi_root = http://a\n[cni_daemon]\nstate_dir = /a\n");
  const std::string second = File("2.conf", "[kubernetes]\napi_root = http://b\n");

  const Config config = Load({first, second});

  EXPECT_EQ(config.api.api_root, "http://b");
  EXPECT_EQ(config.state_dir, "/a");
}

TEST_F(ConfigTest, TheAgentsSocketIsReadWhateverElseStandsThere) {
  const std::string file =
      File("a.conf", "[cni_daemon]\nbind_address = unix:/a.sock\nmax_calls = many\n");

  EXPECT_EQ(LoadAgentSocket({file}), "/a.sock");
  EXPECT_EQ(LoadAgentSocket({File("empty.conf", "")}), Config().agent_socket);
}

TEST_F(ConfigTest, AnAddressThatIsNoUnixPathIsAnErrorThatNamesItsPlace) {
  for (const char* value : {"unix:a", "unix:", "/run/a.sock", "127.0.0.1", "localhost:http"}) {
    const std::string file =
        File("b.conf", std::string("[cni_daemon]\nbind_address = ") + value + "\n");
    EXPECT_THAT(
        [&] { (void)LoadAgentSocket({file}); },
        ::testing::ThrowsMessage<CniError>(HasSubstr("b.conf: [cni_daemon] bind_address: \"" +
                                                     std::string(value) + "\" is no unix:")))
        << value;
  }
}

TEST_F(ConfigTest, KuryrKubernetesAddressIsIgnoredAndItsPlaceIsKnown) {
  for (const char* value : {"127.0.0.1:5036", "[::1]:5036"}) {
    const Config config =
        Load({File("c.conf", std::string("[cni_daemon]\nbind_address = ") + value + "\n")});
    EXPECT_EQ(config.agent_socket, Config().agent_socket);
    EXPECT_THAT(config.ignored_address, HasSubstr("c.conf: [cni_daemon] bind_address"));
  }
  EXPECT_EQ(Load({File("d.conf", "[cni_daemon]\nbind_address = unix:/a\n")}).ignored_address, "");
}

TEST_F(ConfigTest, TheEnvironmentNamesTheApiServerWhereTheFileDoesNot) {
  const std::string file = File("empty.conf", "[kubernetes]\napi_root =\n");
  EXPECT_EQ(Load({file}).api.api_root, "https://localhost:6443");

  environment_ = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT_HTTPS", "443"}};
  EXPECT_EQ(Load({file}).api.api_root, "https://[fd00::1]:443");

  environment_.erase("KUBERNETES_SERVICE_PORT_HTTPS");
  environment_["KUBERNETES_SERVICE_PORT"] = "6443";
  EXPECT_EQ(Load({file}).api.api_root, "https://[fd00::1]:6443");

  environment_["K8S_API"] = "http://127.0.0.1:8080";
  EXPECT_EQ(Load({file}).api.api_root, "http://127.0.0.1:8080");
}

TEST_F(ConfigTest, AKubeconfigNamesServerAndIdentity) {
  environment_ = {{"K8S_API", "http://a"}, {"KUBECONFIG", "/nowhere"}};
  const std::string kubeconfig = Kubeconfig("admin", "token: t");

  const Config config = Load({File("a.conf", "[kubernetes]\nkubeconfig = " + kubeconfig + "\n")});

  EXPECT_EQ(config.api.api_root, "https://admin:6443");
  EXPECT_EQ(config.api.ca.value, "---CA");
  EXPECT_EQ(config.api.token.value, "t");
  EXPECT_EQ(config.unverified_by, "");
}

TEST_F(ConfigTest, TheEnvironmentsKubeconfigIsTheLastResort) {
  const std::string file = File("empty.conf", "[kubernetes]\nkubeconfig =\n");
  environment_ = {{"KUBECONFIG", "/nowhere:" + Kubeconfig("admin", "token: t")}};
  EXPECT_EQ(Load({file}).api.api_root, "https://admin:6443");

  environment_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  environment_["KUBERNETES_SERVICE_PORT"] = "443";
  const Config config = Load({file});
  EXPECT_EQ(config.api.api_root, "https://10.0.0.1:443");
  EXPECT_TRUE(config.api.token.value.empty());

  environment_ = {{"KUBECONFIG", Kubeconfig("admin", "token: t")}};
  const Config named = Load({File("root.conf", "[kubernetes]\napi_root = https://b\n")});
  EXPECT_EQ(named.api.api_root, "https://b");
  EXPECT_TRUE(named.api.token.value.empty());
}

TEST_F(ConfigTest, OptionsWinOverTheKubeconfig) {
  const std::string pem = File("pem", "x");
  const std::string kubeconfig = Kubeconfig("admin", "token: t");

  const Config config =
      Load({File("a.conf", "[kubernetes]\nkubeconfig = " + kubeconfig +
                               "\napi_root = https://b\nssl_ca_crt_file = " + pem + "\n")});

  EXPECT_EQ(config.api.api_root, "https://b");
  EXPECT_EQ(config.api.ca.file, pem);
  EXPECT_EQ(config.api.ca.value, "");
  EXPECT_EQ(config.api.token.value, "t");
}

TEST_F(ConfigTest, AnIdentityInTheFileReplacesTheKubeconfigsUser) {
  const std::string pem = File("pem", "x");
  for (const char* user : {"token: t", "exec: {command: aws}"}) {
    const std::string conf = "[kubernetes]\nkubeconfig = " + Kubeconfig("admin", user) + "\n";
    const watcher::ApiConfig by_token = Load({File("a.conf", conf + "token_file = " + pem)}).api;
    const watcher::ApiConfig by_cert =
        Load({File("b.conf", conf + "ssl_client_crt_file = " + pem)}).api;

    EXPECT_EQ(by_token.token.file, pem);
    EXPECT_EQ(by_token.token.value, "");
    EXPECT_EQ(by_cert.client_cert.file, pem);
    EXPECT_TRUE(by_cert.token.empty());
    EXPECT_EQ(by_cert.ca.value, "---CA");
  }
}

TEST_F(ConfigTest, ATokenInTheFileWinsOverAClientCertificate) {
  const std::string pem = File("pem", "x");
  const std::string conf =
      "[kubernetes]\nssl_client_crt_file = " + pem + "\nssl_client_key_file = " + pem + "\n";

  const watcher::ApiConfig by_cert = Load({File("a.conf", conf)}).api;
  EXPECT_EQ(by_cert.client_cert.file, pem);
  EXPECT_EQ(by_cert.client_key.file, pem);

  const watcher::ApiConfig by_token = Load({File("b.conf", conf + "token_file = " + pem)}).api;
  EXPECT_EQ(by_token.token.file, pem);
  EXPECT_TRUE(by_token.client_cert.empty());
  EXPECT_TRUE(by_token.client_key.empty());
}

TEST_F(ConfigTest, AKubeconfigsUserMayHaveATokenAndACertificate) {
  const watcher::ApiConfig api =
      Load({File("a.conf", "[kubernetes]\nkubeconfig = " +
                               Kubeconfig("admin",
                                          "token: t, client-certificate-data: LS0tQw==, "
                                          "client-key-data: LS0tSw==") +
                               "\n")})
          .api;

  EXPECT_EQ(api.token.value, "t");
  EXPECT_EQ(api.client_cert.value, "---C");
  EXPECT_EQ(api.client_key.value, "---K");
}

TEST_F(ConfigTest, WhoSwitchedVerificationOffIsKnown) {
  const std::string kubeconfig = Kubeconfig("admin", "token: t", "insecure-skip-tls-verify: true");
  const std::string by_option = File("a.conf", "[kubernetes]\nssl_verify_server_crt = False\n");
  const std::string conf = "[kubernetes]\nkubeconfig = " + kubeconfig + "\n";

  EXPECT_EQ(Load({by_option}).unverified_by, by_option + ": [kubernetes] ssl_verify_server_crt");
  const Config by_kubeconfig = Load({File("b.conf", conf)});
  EXPECT_FALSE(by_kubeconfig.api.verify_server);
  EXPECT_THAT(by_kubeconfig.unverified_by,
              AllOf(HasSubstr("b.conf: [kubernetes] kubeconfig"), HasSubstr(kubeconfig)));
  const Config on = Load({File("c.conf", conf + "ssl_verify_server_crt = true\n")});
  EXPECT_TRUE(on.api.verify_server);
  EXPECT_EQ(on.unverified_by, "");
}

TEST_F(ConfigTest, AKubeconfigThatCannotBeUsedIsNamed) {
  const std::string kubeconfig = Kubeconfig("admin", "exec: {command: aws}");

  EXPECT_THAT(Refusal("[kubernetes]\nkubeconfig = " + kubeconfig + "\n"),
              AllOf(HasSubstr("bad.conf: [kubernetes] kubeconfig: "), HasSubstr(kubeconfig),
                    HasSubstr("user \"admin\": exec: ")));
  environment_ = {{"KUBECONFIG", "/nowhere"}};
  EXPECT_THAT(Refusal("[kubernetes]\n"),
              AllOf(HasSubstr("KUBECONFIG: "), HasSubstr("/nowhere: there is no such file")));
}

TEST_F(ConfigTest, ARefusalNamesFileSectionAndOption) {
  for (const auto& [text, option] : std::vector<std::pair<std::string, std::string>>{
           {"[kubernetes]\napi_root = localhost\n", "[kubernetes] api_root"},
           {"[kubernetes]\ntoken_file = /nowhere\n", "[kubernetes] token_file"},
           {"[kubernetes]\nssl_ca_crt_file = /nowhere\n", "[kubernetes] ssl_ca_crt_file"},
           {"[kubernetes]\nkubeconfig = /nowhere\n", "[kubernetes] kubeconfig"},
           {"[kubernetes]\nwatch_retry_timeout = 0\n", "[kubernetes] watch_retry_timeout"},
           {"[kubernetes]\nssl_verify_server_crt = maybe\n", "[kubernetes] ssl_verify_server_crt"},
           {"[cni_daemon]\nvif_annotation_timeout = 0\n", "[cni_daemon] vif_annotation_timeout"},
           {"[cni_daemon]\nvif_annotation_timeout = 6o\n", "[cni_daemon] vif_annotation_timeout"},
           {"[cni_daemon]\nagent_wait = -1\n", "[cni_daemon] agent_wait"},
           {"[cni_daemon]\nrepair = yes\n", "[cni_daemon] repair"},
           {"[cni_daemon]\nstate_dir = run\n", "[cni_daemon] state_dir"},
           {"[os_vif_ovs]\novsdb_wait = -1\n", "[os_vif_ovs] ovsdb_wait"},
           {"[os_vif_ovs]\nwait_for_wiring = true\n", "[os_vif_ovs] wait_for_wiring"},
           {"[binding]\nlink_iface = ../eth0\n", "[binding] link_iface"},
           {"[neutron_defaults]\nnetwork_device_mtu = 65536\n",
            "[neutron_defaults] network_device_mtu"}}) {
    const std::string refusal = Refusal(text);

    EXPECT_THAT(refusal, HasSubstr("bad.conf"));
    EXPECT_THAT(refusal, HasSubstr(option));
  }
}

TEST_F(ConfigTest, AFileThatIsMissingOrMalformedIsRefusedByName) {
  EXPECT_THAT(Refusal("[kubernetes\n"), HasSubstr("bad.conf"));
  EXPECT_THROW((void)Load({"/nowhere/kuryr.conf"}), CniError);
}

TEST_F(ConfigTest, AFileThatOthersMayWriteIsWarnedOf) {
  const std::string log = dir_ / "log";
  SetLogFile(log);
  const auto warnings_of = [&](unsigned mode) {
    const std::string file = File("kuryr.conf", "[DEFAULT]\n");
    std::filesystem::permissions(file, std::filesystem::perms(mode));
    std::filesystem::resize_file(log, 0);
    (void)Load({file});
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    return text.str();
  };

  for (const unsigned mode : {0666U, 0664U})
    EXPECT_THAT(warnings_of(mode), AllOf(HasSubstr("can be written by others"),
                                         HasSubstr((dir_ / "kuryr.conf").string())));
  EXPECT_EQ(warnings_of(0644), "");
}

}  // namespace
}  // namespace kuryr::cni
