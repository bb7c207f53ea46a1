#include "cni/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

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
                     token + "\nssl_ca_crt_file = " + token + "\nssl_client_crt_file = " + token +
                     "\nssl_client_key_file = " + token +
                     "\nssl_verify_server_crt = no\nwatch_connection_timeout = 3\n"
                     "watch_read_timeout = 5\n"
                     "[cni_daemon]\nvif_annotation_timeout = 200\nstate_dir = /tmp/state\n"
                     "[os_vif_ovs]\novsdb_connection = tcp:127.0.0.1:6640\n"
                     "ovs_vsctl_timeout = 7\ndatapath_type = netdev\n"
                     "[neutron_defaults]\nnetwork_device_mtu = 1400\n")});

  EXPECT_TRUE(config.debug);
  EXPECT_EQ(config.log_file, "/tmp/x.log");
  EXPECT_EQ(config.api.api_root, "https://[::1]:6443");
  EXPECT_EQ(config.api.token_file, token);
  EXPECT_EQ(config.api.ca_file, token);
  EXPECT_EQ(config.api.client_cert_file, token);
  EXPECT_EQ(config.api.client_key_file, token);
  EXPECT_FALSE(config.api.verify_server);
  EXPECT_EQ(config.api.connect_timeout, std::chrono::seconds(3));
  EXPECT_EQ(config.api.read_timeout, std::chrono::seconds(5));
  EXPECT_EQ(config.vif_annotation_timeout, std::chrono::seconds(200));
  EXPECT_EQ(config.state_dir, "/tmp/state");
  EXPECT_EQ(config.binding.ovsdb_connection, "tcp:127.0.0.1:6640");
  EXPECT_EQ(config.binding.ovs_timeout, std::chrono::seconds(7));
  EXPECT_EQ(config.binding.datapath_type, "netdev");
  EXPECT_EQ(config.binding.network_device_mtu, 1400U);
}

TEST_F(ConfigTest, TheFileWeShipIsAllDefaults) {
  const Config shipped = Load({KURYR_TEST_DATA "/../../etc/kuryr.conf"});
  const Config defaults = Load({File("empty.conf", "")});

  EXPECT_EQ(shipped.api.api_root, defaults.api.api_root);
  EXPECT_TRUE(shipped.api.verify_server);
  EXPECT_EQ(shipped.state_dir, "/run/kuryr");
  EXPECT_EQ(shipped.vif_annotation_timeout, std::chrono::seconds(60));
  EXPECT_EQ(shipped.binding.ovsdb_connection, "unix:/var/run/openvswitch/db.sock");
}

TEST_F(ConfigTest, ALaterFileWins) {
  const std::string first =
      File("1.conf", "[kubernetes]\napi_root = http://a\n[cni_daemon]\nstate_dir = /a\n");
  const std::string second = File("2.conf", "[kubernetes]\napi_root = http://b\n");

  const Config config = Load({first, second});

  EXPECT_EQ(config.api.api_root, "http://b");
  EXPECT_EQ(config.state_dir, "/a");
}

TEST_F(ConfigTest, TheEnvironmentNamesTheApiServerWhereTheFileDoesNot) {
  const std::string file = File("empty.conf", "[kubernetes]\napi_root =\n");
  EXPECT_EQ(Load({file}).api.api_root, "https://localhost:6443");

  environment_ = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT_HTTPS", "443"}};
  EXPECT_EQ(Load({file}).api.api_root, "https://[fd00::1]:443");

  environment_["K8S_API"] = "http://127.0.0.1:8080";
  EXPECT_EQ(Load({file}).api.api_root, "http://127.0.0.1:8080");
}

TEST_F(ConfigTest, ARefusalNamesFileSectionAndOption) {
  for (const auto& [text, option] : std::vector<std::pair<std::string, std::string>>{
           {"[kubernetes]\napi_root = localhost\n", "[kubernetes] api_root"},
           {"[kubernetes]\ntoken_file = /nowhere\n", "[kubernetes] token_file"},
           {"[kubernetes]\nssl_ca_crt_file = /nowhere\n", "[kubernetes] ssl_ca_crt_file"},
           {"[kubernetes]\nssl_verify_server_crt = maybe\n", "[kubernetes] ssl_verify_server_crt"},
           {"[cni_daemon]\nvif_annotation_timeout = 0\n", "[cni_daemon] vif_annotation_timeout"},
           {"[cni_daemon]\nvif_annotation_timeout = 6o\n", "[cni_daemon] vif_annotation_timeout"},
           {"[cni_daemon]\nstate_dir = run\n", "[cni_daemon] state_dir"},
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

}  // namespace
}  // namespace kuryr::cni
