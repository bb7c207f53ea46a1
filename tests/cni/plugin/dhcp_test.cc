#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/cni/plugin/ovs_cni_fixture.h"

namespace kuryr::test {
namespace {

using binding::Netns;
using binding::NetnsGuard;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDhcp = "/usr/lib/cni/dhcp";

/// CNI's plugin dhcp with its daemon, and a server that has one address: 10.9.0.10. The server is
/// in VLAN 100 of br1, or on the kernel's bridge lan0.
class DhcpTest : public OvsCniTest {
 protected:
  void SetUp() override {
    OvsCniTest::SetUp();
    if (::access(kDhcp, X_OK) != 0) GTEST_SKIP() << "containernetworking-plugins is not installed";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "busybox-static is not installed";
    RunOnHost({"ip", "link", "add", "lan0", "up", "type", "bridge"});
    StartDaemon();
  }
  void TearDown() override {
    daemon_.reset();
    server_.reset();
    OvsCniTest::TearDown();
  }

  /// Its leases are for so many seconds.
  void StartServer(const std::string& switch_name, const std::string& lease) {
    const std::string netns = MakePodNetnsPath();
    RunOnHost({"ip", "link", "add", "dhcp0", "up", "type", "veth", "peer", "name", "eth0", "netns",
               netns.substr(netns.rfind('/') + 1)});
    if (switch_name == "br1") {
      ovs_->Vsctl({"add-port", "br1", "dhcp0", "tag=100"});
      ports_before_ = Ports();
    } else {
      RunOnHost({"ip", "link", "set", "dhcp0", "master", switch_name});
    }
    at_server_.emplace(Netns::Open(netns));
    RunIn(*at_server_, {"ip", "address", "add", "10.9.0.1/24", "dev", "eth0"});
    RunIn(*at_server_, {"ip", "link", "set", "eth0", "up"});
    const std::string file = work_ / "udhcpd.conf";
    std::ofstream(work_ / "leases").close();
    std::ofstream(file) << "interface eth0\nstart 10.9.0.10\nend 10.9.0.10\nlease_file "
                        << (work_ / "leases").string() << "\npidfile "
                        << (work_ / "udhcpd.pid").string()
                        << "\nopt subnet 255.255.255.0\nopt router 10.9.0.1\nopt lease " << lease
                        << "\n";
    const NetnsGuard guard(*at_server_);
    server_.emplace(Command{.argv = {"/bin/busybox", "udhcpd", "-f", "-a", "1", file}});
    server_->WaitForOutput("started");
  }
  /// As systemd starts it: with its socket.
  void StartDaemon() {
    ::unlink(socket().c_str());
    constexpr const char* kStart = R"(
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
print("listening", flush=True)
os.execv(sys.argv[1], [sys.argv[1], "daemon", "-timeout", "1s", "-resendmax", "1s"])
)";
    daemon_.emplace(Command{.argv = {"python3", "-c", kStart, kDhcp, socket()}});
    daemon_->WaitForOutput("listening");
  }
  [[nodiscard]] std::string socket() const { return work_ / "dhcp.sock"; }
  [[nodiscard]] json Ipam() const { return {{"type", "dhcp"}, {"daemonSocketPath", socket()}}; }

  [[nodiscard]] json OfOvsCni() const {
    return {{"cniVersion", "1.0.0"}, {"bridge", "br1"}, {"vlan", 100}, {"ipam", Ipam()}};
  }
  [[nodiscard]] json OnOvs() const {
    return {{"cniVersion", "1.0.0"},
            {"type", "kuryr-cni"},
            {"kuryr", {{"vif", "ovs"}, {"bridge", "br1"}, {"vlan", 100}}},
            {"ipam", Ipam()}};
  }
  [[nodiscard]] json OnBridge() const {
    return {{"cniVersion", "1.0.0"},
            {"type", "kuryr-cni"},
            {"kuryr", {{"vif", "bridge"}, {"bridge", "lan0"}}},
            {"isGateway", false},
            {"ipam", Ipam()}};
  }

  void ExpectLeased(const TestPod& pod) {
    EXPECT_EQ(result_["ips"][0].value("address", ""), "10.9.0.10/24") << result_;
    EXPECT_EQ(result_["ips"][0].value("interface", 0U), result_["interfaces"].size() - 1);
    EXPECT_EQ(result_["routes"][0].value("gw", ""), "10.9.0.1");
    const json link = LinkIn(pod, "eth0");
    EXPECT_EQ(link["address"], result_["interfaces"].back()["mac"]);
    EXPECT_THAT(link.dump(), HasSubstr("10.9.0.10"));
    RunIn(Netns::Open(pod.netns), {"ping", "-c", "1", "-W", "10", "10.9.0.1"});
  }
  void ExpectChecked(const TestPod& pod, json config) {
    config["prevResult"] = result_;
    const ProcessResult checked = Run("CHECK", pod, Options(config));
    EXPECT_EQ(checked.status, 0) << checked.out;
  }
  /// An address, its renewal, and a daemon that has forgotten it.
  void ExpectLife(const json& config) {
    StartServer(config.dump().find("lan0") == std::string::npos ? "br1" : "lan0", "6");
    const TestPod pod = MakePod("web");

    Added(pod, config);
    ExpectLeased(pod);
    daemon_->WaitForOutput("lease renewed", std::chrono::seconds(60));
    StartDaemon();
    ExpectChecked(pod, config);
    daemon_->WaitForOutput("lease renewed", std::chrono::seconds(60));

    ExpectLeased(pod);
    for (int i = 0; i < 2; ++i) ExpectDeleted(pod, config);
    daemon_->WaitForOutput("releasing lease");
    ExpectNothingButTheServer();
  }

  void ExpectNothingButTheServer() {
    EXPECT_EQ(Ports(), ports_before_);
    EXPECT_EQ(HostVeths().size(), server_ ? 1U : 0U);
    EXPECT_EQ(Records(), std::vector<std::string>());
  }

  std::optional<Netns> at_server_;
  std::optional<Process> server_;
  std::optional<Process> daemon_;
};

TEST_F(DhcpTest, APodOfOvsCniIsLeasedAnAddressInItsVlan) { ExpectLife(OfOvsCni()); }

TEST_F(DhcpTest, APodOnOpenVSwitchIsLeasedAnAddressInItsVlan) { ExpectLife(OnOvs()); }

TEST_F(DhcpTest, APodOnABridgeIsLeasedAnAddress) { ExpectLife(OnBridge()); }

/// The server has no other one.
TEST_F(DhcpTest, ADelGivesTheAddressBackThroughTheInterface) {
  StartServer("br1", "3600");
  const TestPod first = MakePod("first");
  const TestPod second = MakePod("second");
  Added(first, OfOvsCni());

  ExpectDeleted(first, OfOvsCni());

  Added(second, OfOvsCni());
  ExpectLeased(second);
}

TEST_F(DhcpTest, AnAddThatFailsAfterwardsGivesTheAddressBackToo) {
  StartServer("br1", "3600");
  const TestPod pod = MakePod("web");
  json config = OfOvsCni();
  config["ipam"]["type"] = "wrong-dhcp";
  const std::filesystem::path wrong = work_ / "wrong-dhcp";
  // No kernel has a route with such a prefix.
  std::ofstream(wrong) << "#!/bin/sh\n" << kDhcp << " | sed 's|0.0.0.0/0|10.9.0.1/16|'\n";
  std::filesystem::permissions(wrong, std::filesystem::perms::owner_all);
  auto options = Options(config);
  options["CNI_PATH"] = work_.string();

  const ProcessResult failed = Run("ADD", pod, options);

  EXPECT_EQ(failed.status, 1) << failed.out;
  EXPECT_THAT(failed.out, HasSubstr("add route 10.9.0.1/16 via 10.9.0.1"));
  daemon_->WaitForOutput("releasing lease");
  ExpectNothingButTheServer();
}

TEST_F(DhcpTest, WithoutItsDaemonAnAddLeavesNoInterfaceAndTheDelReleasesLater) {
  const TestPod pod = MakePod("web");
  daemon_.reset();

  const json error = Refused(pod, OfOvsCni());

  EXPECT_EQ(error["code"], 104);
  EXPECT_THAT(error.value("msg", ""), StartsWith("plugin dhcp failed: "));
  EXPECT_EQ(LinkIn(pod, "eth0"), json());
  EXPECT_EQ(Run("DEL", pod, Options(OfOvsCni())).status, 1);
  StartDaemon();
  ExpectDeleted(pod, OfOvsCni());
  ExpectNothingButTheServer();
}

TEST_F(DhcpTest, ADelWithoutTheNamespaceEndsTheLease) {
  StartServer("br1", "3600");
  const TestPod pod = MakePod("web");
  Added(pod, OfOvsCni());
  RemovePodNetns(pod.netns);

  ExpectDeleted(pod, OfOvsCni());

  daemon_->WaitForOutput("releasing lease");
  ExpectNothingButTheServer();
}

}  // namespace
}  // namespace kuryr::test
