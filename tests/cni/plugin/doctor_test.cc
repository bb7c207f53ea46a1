#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/cni/plugin/plugin_fixture.h"
#include "tests/support/kube_api_server.h"
#include "tests/support/paths.h"

// kuryr-cni doctor, on nodes that lack something.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// With a runtime's folders.
class DoctorTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    Write("net.d/10-kuryr.conflist", R"({"plugins": [{"type": "kuryr-cni"}]})");
    Write("bin/kuryr-cni", "");
    std::filesystem::permissions(work_ / "bin/kuryr-cni", std::filesystem::perms::owner_all);
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
                 "datapath_type=" + PrivateOvs::datapath_type()});
  }

  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((work_ / name).parent_path());
    std::ofstream(work_ / name) << text;
  }
  [[nodiscard]] ProcessResult Ask(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv = {test::BinDir() + "/kuryr-cni",
                                     "--config-file=" + (work_ / "kuryr.conf").string(), "doctor",
                                     "--cni-conf-dir=" + (work_ / "net.d").string(),
                                     "--cni-bin-dir=" + (work_ / "bin").string()};
    argv.insert(argv.end(), more.begin(), more.end());
    return Process({.argv = argv}).Wait();
  }
  /// As on a node whose root is the folder "node".
  [[nodiscard]] ProcessResult AskNode() const {
    return Process({.argv = {test::BinDir() + "/kuryr-cni",
                             "--config-file=" + (work_ / "kuryr.conf").string(), "doctor", "--json",
                             "--host=" + (work_ / "node").string()}})
        .Wait();
  }
  void WriteProgram(const std::string& name, const std::string& text) const {
    Write(name, text);
    std::filesystem::permissions(work_ / name, std::filesystem::perms::owner_all);
  }
  /// The one check of the subject: its status, message and remedy.
  [[nodiscard]] std::string Of(const std::string& subject) const {
    return FindingOf(subject, Ask({"--json"}));
  }
  static std::string FindingOf(const std::string& subject, const ProcessResult& result) {
    const json answer = json::parse(result.out);
    std::string found;
    for (const json& check : answer.at("checks")) {
      if (check.at("check") != subject) continue;
      EXPECT_EQ(found, "") << "twice";
      const std::string status = check.at("status");
      found = status + ": " + check.at("message").get<std::string>() + "; " +
              check.at("remedy").get<std::string>();
      EXPECT_TRUE(status != "failed" || result.status == 1) << result.status;
    }
    return found;
  }
};

/// With a real API server.
class DoctorApiTest : public DoctorTest {
 protected:
  void SetUp() override {
    if (const auto why = KubeApiServer::Unavailable()) GTEST_SKIP() << "SKIPPED: " << *why;
    DoctorTest::SetUp();
    server_.emplace(work_);
    WriteConfig(Kubernetes(server_->token_file()));
  }
  void TearDown() override {
    server_.reset();
    DoctorTest::TearDown();
  }

  [[nodiscard]] std::string Kubernetes(const std::string& token_file) const {
    return "api_root = " + server_->url() + "\nssl_ca_crt_file = " + server_->ca_file() +
           "\ntoken_file = " + token_file + "\n";
  }

  std::optional<KubeApiServer> server_;
};

TEST_F(DoctorApiTest, NodeThatLacksNothingIsHealthy) {
  const ProcessResult result = Ask();

  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("✓ kuryr.conf"), HasSubstr("✓ kernel: veth"),
                                HasSubstr("✓ Open vSwitch: bridge br-int"),
                                HasSubstr("✓ network configuration"), HasSubstr("✓ program"),
                                HasSubstr("? kuryr-daemon: none"), HasSubstr("✓ API server"),
                                HasSubstr("✓ rights: all"), HasSubstr("\nno fault found; ")));
}

TEST_F(DoctorTest, ItLeavesTheNodeAsItWas) {
  const auto veths = HostVeths();

  (void)Ask();

  EXPECT_EQ(HostVeths(), veths);
  EXPECT_TRUE(Ports().empty());
  EXPECT_FALSE(std::filesystem::exists(work_ / "state"));
}

TEST_F(DoctorTest, BridgeThatIsMissingIsNamedWithItsOption) {
  ovs_->Vsctl({"del-br", "br-int"});

  EXPECT_THAT(Of("Open vSwitch"), AllOf(HasSubstr("failed: "), HasSubstr("br-int"),
                                        HasSubstr("[neutron_defaults] ovs_bridge")));
}

TEST_F(DoctorTest, TheLastLineCountsFaultsAndSaysWhereToBegin) {
  ovs_->Vsctl({"del-br", "br-int"});
  Write("net.d/00-bridge.conflist", R"({"plugins": [{"type": "bridge"}]})");

  const json answer = json::parse(Ask({"--json"}).out);
  const std::string summary = answer.at("summary");

  EXPECT_GE(answer.at("failed"), 2);
  EXPECT_THAT(summary, AllOf(StartsWith(answer.at("failed").dump() + " faults"),
                             HasSubstr("Begin with Open vSwitch")));
  EXPECT_THAT(Ask().out, ::testing::EndsWith(summary + "\n"));
}

TEST_F(DoctorTest, MarksHaveColoursOnATerminalAlone) {
  const auto on_terminal = [&](const std::string& environment) {
    return Process({.argv = {"env", environment, "script", "--quiet", "--command",
                             test::BinDir() + "/kuryr-cni --config-file=" +
                                 (work_ / "kuryr.conf").string() + " doctor",
                             "/dev/null"}})
        .Wait()
        .out;
  };
  EXPECT_THAT(on_terminal("NONE="), HasSubstr("\x1b[32m✓\x1b[0m kuryr.conf"));
  EXPECT_THAT(on_terminal("NO_COLOR=1"), AllOf(HasSubstr("✓ kuryr.conf"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Ask().out, Not(HasSubstr("\x1b")));
}

TEST_F(DoctorTest, ConfigurationOfAnotherPluginThatComesFirstIsNamed) {
  Write("net.d/00-bridge.conflist", R"({"plugins": [{"type": "bridge"}]})");

  EXPECT_THAT(Of("network configuration"),
              AllOf(HasSubstr("failed: "), HasSubstr("00-bridge.conflist has type bridge")));
}

TEST_F(DoctorTest, ConfigurationOfMultusIsLeftToItsReader) {
  Write("net.d/00-multus.conf", R"({"type": "multus-shim"})");

  EXPECT_THAT(Of("network configuration"), HasSubstr("unknown: "));
}

TEST_F(DoctorTest, InOvsCnisPlaceItNeedsNeitherApiServerNorItsOwnBridge) {
  ovs_->Vsctl({"del-br", "br-int"});
  api_.reset();
  Write("net.d/00-ovs.conf", R"({"type": "ovs", "bridge": "br1"})");
  EXPECT_THAT(Of("network configuration"), HasSubstr("failed: "));

  std::filesystem::create_symlink("kuryr-cni", work_ / "bin/ovs");

  EXPECT_THAT(Of("network configuration"), HasSubstr("has type ovs, which is kuryr-cni"));
  EXPECT_THAT(Of("Open vSwitch"), HasSubstr("unknown: bridge br-int"));
  EXPECT_THAT(Of("API server"), HasSubstr("unknown: "));
}

TEST_F(DoctorTest, ANetworkOfTheNodeItselfNeedsNoApiServer) {
  api_.reset();
  Write("net.d/00-kuryr.conflist",
        R"({"plugins": [{"type": "kuryr-cni", "ipam": {"type": "host-local"}}]})");

  EXPECT_THAT(Of("API server"), HasSubstr("unknown: "));
}

TEST_F(DoctorTest, BridgeThatVswitchdCannotMakeIsNamed) {
  ovs_->Vsctl({"del-br", "br-int"});
  ovs_->Vsctl(
      {"--no-wait", "add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=nonsense"});

  EXPECT_THAT(Of("Open vSwitch"), HasSubstr("failed: ovs-vswitchd did not make bridge br-int"));
}

TEST_F(DoctorTest, ConfigurationThatIsNoFileIsNamedAndNotAwaited) {
  ASSERT_EQ(::mkfifo((work_ / "net.d/00-\x1b[2J.conf").c_str(), 0666), 0);

  EXPECT_THAT(Of("network configuration"),
              AllOf(HasSubstr("failed: "), HasSubstr("no regular file"), Not(HasSubstr("\x1b"))));
}

TEST_F(DoctorTest, ConfigurationThatIsNoJsonIsNamed) {
  Write("net.d/00-bridge.conflist", "{");

  EXPECT_THAT(Of("network configuration"), HasSubstr("00-bridge.conflist: "));
}

TEST_F(DoctorTest, MissingProgramIsNamed) {
  std::filesystem::remove(work_ / "bin/kuryr-cni");

  EXPECT_THAT(Of("program"), HasSubstr("No such file or directory"));
}

TEST_F(DoctorTest, AListThatOffersAVersionThatAPluginDoesNotKnowIsNamedWithItsRemedy) {
  Write("net.d/10-kuryr.conflist",
        R"({"cniVersions":["0.4.0","1.0.0","1.1.0"],"plugins":[{"type":"kuryr-cni"},)"
        R"({"type":"portmap"}]})");
  EXPECT_THAT(Of("versions of CNI"), AllOf(HasSubstr("failed: "), HasSubstr("plugin portmap"),
                                           HasSubstr("no such program")));
  WriteProgram("bin/portmap", "#!/bin/sh\necho '{\"supportedVersions\":[\"0.4.0\",\"1.0.0\"]}'\n");
  EXPECT_THAT(
      Of("versions of CNI"),
      AllOf(HasSubstr("failed: "), HasSubstr("10-kuryr.conflist offers CNI 0.4.0, 1.0.0, 1.1.0"),
            HasSubstr("bin/portmap knows 0.4.0, 1.0.0"), HasSubstr(R"(["0.4.0","1.0.0"])")));
  WriteProgram("bin/portmap", "#!/bin/sh\nexit 1\n");
  EXPECT_THAT(Of("versions of CNI"), HasSubstr("unknown: "));
  WriteProgram("bin/portmap",
               "#!/bin/sh\necho '{\"supportedVersions\":[\"0.4.0\",\"1.0.0\",\"1.1.0\"]}'\n");
  EXPECT_THAT(Of("versions of CNI"), HasSubstr("ok: all plugins know"));
}

TEST_F(DoctorTest, TheFoldersThatContainerdReadsCount) {
  Write("node/etc/containerd/config.toml",
        "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/usr/lib/cni\"\n");
  Write("node/etc/cni/net.d/10-kuryr.conflist", R"({"plugins": [{"type": "kuryr-cni"}]})");
  WriteProgram("node/opt/cni/bin/kuryr-cni", "");
  EXPECT_THAT(FindingOf("program", AskNode()),
              AllOf(HasSubstr("failed: "),
                    HasSubstr("/usr/lib/cni/kuryr-cni, where containerd looks "
                              "(/etc/containerd/config.toml)"),
                    HasSubstr("kuryr-cni install")));
  WriteProgram("node/usr/lib/cni/kuryr-cni", "");
  EXPECT_THAT(FindingOf("program", AskNode()), HasSubstr("ok: "));
}

TEST_F(DoctorApiTest, RightsThatAreLackingAreNamed) {
  WriteConfig(Kubernetes(server_->nobody_token_file()));

  EXPECT_THAT(Of("rights"), AllOf(HasSubstr("may not: get pods, list pods, watch pods"),
                                  HasSubstr("etc/kubernetes/base/agent/rbac.yaml")));
}

TEST_F(DoctorTest, ApiServerThatDoesNotAnswerIsNamed) {
  api_.reset();

  EXPECT_THAT(Of("API server"), AllOf(HasSubstr("failed: "), HasSubstr("[kubernetes]")));
}

TEST_F(DoctorTest, AgentThatIsReadyNeedsNoApiServerOfThePlugins) {
  StartAgent();
  WriteConfig("api_root = http://127.0.0.1:1\n");

  EXPECT_THAT(Of("kuryr-daemon"), HasSubstr("ok: ready"));
  EXPECT_THAT(Of("API server"), HasSubstr("unknown: "));
}

TEST_F(DoctorTest, AgentThatIsAwayIsBad) {
  StartAgent();
  agent_.reset();

  EXPECT_THAT(Of("kuryr-daemon"), AllOf(HasSubstr("failed: no agent answers"), HasSubstr("start")));
}

TEST_F(DoctorTest, TunnelsOfAnAddressThatTheNodeHasNotAreNamed) {
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:ovn-encap-ip=192.0.2.1",
               "external_ids:ovn-encap-type=geneve"});

  EXPECT_THAT(Of("MTU"), AllOf(HasSubstr("192.0.2.1"), HasSubstr("ovn-encap-ip")));
}

TEST_F(DoctorTest, TunnelsThatCarryLessThanTheVifsHaveAreNamed) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  const auto encap = [&](const std::string& mtu) {
    EXPECT_EQ(RunProgram({.argv = {"ip", "link", "set", "lo", "mtu", mtu}}).status, 0);
    ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:ovn-encap-ip=127.0.0.1",
                 "external_ids:ovn-encap-type=geneve"});
    return Of("MTU");
  };

  EXPECT_THAT(encap("1400"), AllOf(HasSubstr("failed: tunnels over lo carry 1342"),
                                   HasSubstr("the VIFs have at most 1500")));
  EXPECT_THAT(encap("1558"), HasSubstr("ok: tunnels over lo carry 1500"));
}

TEST_F(DoctorTest, OptionThatNoProgramReadsIsNamedWithTheNearestOne) {
  Write("kuryr.conf", "[controller]\nbakend = ovn\n");

  EXPECT_THAT(Of("kuryr.conf"), AllOf(StartsWith("failed: "), HasSubstr("[controller] bakend"),
                                      HasSubstr("did you mean backend?")));
}

TEST_F(DoctorTest, OptionThatCannotBeReadIsNamed) {
  WriteConfig("vif_source = guess\n");

  EXPECT_THAT(Of("kuryr.conf"), HasSubstr("vif_source"));
}

}  // namespace
}  // namespace kuryr::test
