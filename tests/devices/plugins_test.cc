#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tests/bench/process_usage.h"
#include "tests/devices/fake_devices.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace kuryr::devices {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using test::Process;
using test::ProcessResult;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConfig = R"({"resourceList": [
  {"resourceName": "kernel", "selectors": {"drivers": ["iavf"], "pfNames": ["ens1"]}},
  {"resourceName": "dpdk", "selectors": {"drivers": ["vfio-pci"]}}]})";
constexpr const char* kBoth = "devices intel.com/kernel 0000:03:10.0@0,0000:03:10.1@0\n";

/// kuryr-devices on a node with card ens1 of two VFs, and a kubelet's sockets.
class PluginsTest : public ::testing::Test {
 protected:
  PluginsTest() {
    sysfs_.AddVfs("0000:03:00.0", 2);
    fs::create_directories(folder_.path() / "kubelet/device-plugins");
    fs::create_directories(folder_.path() / "kubelet/pod-resources");
    WriteConfig(kConfig);
    std::ofstream(Conf()) << "[devices]\nconfig_file = "
                          << (folder_.path() / "config.json").string()
                          << "\nkubelet_dir = " << Kubelet().string()
                          << "\nsysfs = " << sysfs_.root().string()
                          << "\ndevinfo_dir = " << (folder_.path() / "devinfo").string()
                          << "\nbridges = br*\nbridge_places = 2"
                          << "\n[devices_health_server]\nport = 0\n";
  }

  [[nodiscard]] fs::path Kubelet() const { return folder_.path() / "kubelet"; }
  [[nodiscard]] std::string Conf() const { return folder_.path() / "kuryr.conf"; }
  [[nodiscard]] std::string SocketOf(const std::string& resource) const {
    return Kubelet() / "device-plugins" / ("kuryr-intel.com_" + resource + ".sock");
  }

  /// Writes by rename, as for a ConfigMap.
  void WriteConfig(const std::string& text) const {
    std::ofstream(folder_.path() / "config.new") << text;
    fs::rename(folder_.path() / "config.new", folder_.path() / "config.json");
  }
  void WritePods(const json& pods) const {
    std::ofstream(folder_.path() / "pods.new") << pods;
    fs::rename(folder_.path() / "pods.new", Kubelet() / "pods.json");
  }
  [[nodiscard]] Process StartDevices() const {
    return Process(
        {.argv = {test::BinDir() + "/kuryr-devices", "--config-file", Conf(), "--debug"}});
  }
  [[nodiscard]] Process StartKubelet(std::vector<std::string> ways = {}) const {
    ways.insert(ways.begin(), kFakeKubelet);
    ways.insert(ways.end(), {"serve", Kubelet()});
    return Process({.argv = std::move(ways)});
  }
  [[nodiscard]] static ProcessResult Ask(std::vector<std::string> words) {
    words.insert(words.begin(), kFakeKubelet);
    return test::RunProgram({.argv = std::move(words)});
  }
  [[nodiscard]] ProcessResult Status(const std::vector<std::string>& words) const {
    std::vector<std::string> argv = {test::BinDir() + "/kuryr-devices", "--config-file", Conf(),
                                     "status"};
    argv.insert(argv.end(), words.begin(), words.end());
    return test::RunProgram({.argv = std::move(argv)});
  }

  [[nodiscard]] ProcessResult Command(const char* name) const {
    return test::RunProgram(
        {.argv = {test::BinDir() + "/kuryr-devices", "--config-file", Conf(), name}});
  }

  inline static const std::string kFakeKubelet =
      test::SourceDir() + "/tests/devices/fake_kubelet.py";
  const TempFolder folder_;
  FakeDevices sysfs_{folder_.path() / "sys"};
};

TEST_F(PluginsTest, RegistersAndListsWithTopology) {
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();

  kubelet.WaitForOutput("registered intel.com/kernel 1\n");
  kubelet.WaitForOutput("registered intel.com/dpdk 1\n");

  kubelet.WaitForOutput(kBoth);
  kubelet.WaitForOutput("devices intel.com/dpdk \n");
  kubelet.WaitForOutput("options intel.com/kernel 1001\n");
}

TEST_F(PluginsTest, KubeletMayComeLaterAndComeAgain) {
  const Process devices = StartDevices();
  for (int round = 0; round < 3; ++round) {
    Process kubelet = StartKubelet();
    kubelet.WaitForOutput(kBoth);
    kubelet.Signal(SIGKILL);
  }
}

/// Serves kubelets that speak as 1.20, as 1.25 and as the newest do.
TEST_F(PluginsTest, KubeletsOfAllAgesAreServed) {
  const std::vector<std::vector<std::string>> ages = {
      {"--path-as-authority", "--answers-first"}, {"--path-as-authority"}, {}};
  const Process devices = StartDevices();
  for (const std::vector<std::string>& ways : ages) {
    const auto ask = [&](std::vector<std::string> words) {
      words.insert(words.begin(), ways.begin(), ways.end());
      return Ask(std::move(words));
    };
    Process kubelet = StartKubelet(ways);
    kubelet.WaitForOutput("registered intel.com/kernel 1\n");
    kubelet.WaitForOutput(kBoth);

    EXPECT_EQ(ask({"prefer", SocketOf("kernel"), "1", "0000:03:10.1"}).out, "0000:03:10.1\n");
    EXPECT_EQ(ask({"allocate", SocketOf("kernel"), "0000:03:10.1"}).status, 0);
    EXPECT_EQ(ask({"prestart", SocketOf("kernel"), "0000:03:10.1"}).out, "ready\n");
    kubelet.Signal(SIGKILL);
  }
}

TEST_F(PluginsTest, SocketThatIsRemovedIsMadeAnew) {
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  fs::remove(SocketOf("kernel"));

  kubelet.WaitForOutput("ended intel.com/kernel UNAVAILABLE\n");
  kubelet.WaitForOutput("registered intel.com/kernel 2\n");
}

TEST_F(PluginsTest, DevicesThatComeAndGoAreTold) {
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  sysfs_.AddOneVf("0000:03:00.0", 2);
  kubelet.WaitForOutput("kernel 0000:03:10.0@0,0000:03:10.1@0,0000:03:10.2@0\n");
  sysfs_.RemoveVf("0000:03:00.0", 0, "0000:03:10.0");

  kubelet.WaitForOutput("kernel 0000:03:10.1@0,0000:03:10.2@0\n");
}

TEST_F(PluginsTest, AllocatedContainerGetsItsEnvironment) {
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  const auto given = Ask({"allocate", SocketOf("kernel"), "0000:03:10.1"});

  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(json::parse(given.out).at("environment").at("PCIDEVICE_INTEL_COM_KERNEL"),
            "0000:03:10.1");
  EXPECT_EQ(Ask({"prefer", SocketOf("kernel"), "1", "0000:03:10.1"}).out, "0000:03:10.1\n");
  const auto refused = Ask({"allocate", SocketOf("dpdk"), "0000:03:10.1"});
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("no device of intel.com/dpdk now")));
  EXPECT_TRUE(fs::exists(folder_.path() / "devinfo/dp/intel.com-kernel-0000:03:10.1-device.json"));
}

TEST_F(PluginsTest, WhoAsksForMoreThanAnyKubeletIsRefused) {
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);
  const std::string id = "0000:03:10.1";

  EXPECT_THAT(Ask({"allocate-often", SocketOf("kernel"), "1000", id}).err,
              AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("1000 containers")));
  EXPECT_THAT(
      Ask({"allocate", SocketOf("kernel"), id, id, id}).err,
      AllOf(HasSubstr("NOT_FOUND"), HasSubstr("asks for 3 devices, and intel.com/kernel has 2")));
  EXPECT_EQ(Ask({"allocate-often", SocketOf("kernel"), "100", id}).out, "allocated\n");
}

TEST_F(PluginsTest, LargestRequestTakesLittleMemory) {
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);
  const std::string status = "/proc/" + std::to_string(devices.id()) + "/status";
  const long before = test::StatusOf(status, "VmRSS");

  EXPECT_THAT(Ask({"allocate-often", SocketOf("kernel"), "500000"}).err,
              AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("500000 containers")));
  EXPECT_THAT(Ask({"allocate-often", SocketOf("kernel"), "600000"}).err,
              AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("1200000 bytes")));

  EXPECT_LT(test::StatusOf(status, "VmHWM") - before, 64 << 10);
}

TEST_F(PluginsTest, ItsHealthIsAskedAtItsSocket) {
  std::ofstream(Conf(), std::ios::app)
      << "socket = " << (folder_.path() / "health.sock").string() << "\n";
  const auto ask = [this](const char* question) {
    return test::RunProgram(
        {.argv = {test::BinDir() + "/kuryr-devices", "--config-file", Conf(), "health", question}});
  };
  EXPECT_THAT(ask("alive").err, HasSubstr("nobody answers at " + folder_.path().string()));
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  EXPECT_EQ(ask("alive").out, "ok\n");
  EXPECT_EQ(ask("alive").status, 0);
}

TEST_F(PluginsTest, DeviceOfAPodStaysWithItsResourceWhileItsDriverIsAnother) {
  WritePods({{"0000:03:10.1", "intel.com/kernel"}});
  sysfs_.SetDriver("0000:03:10.1", "vfio-pci");
  Process kubelet = StartKubelet();
  Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);
  kubelet.WaitForOutput("devices intel.com/dpdk \n");

  devices.Signal(SIGKILL);
  devices.Wait();
  const Process next = StartDevices();

  kubelet.WaitForOutput("registered intel.com/kernel 2\n");
  kubelet.WaitForOutput("registered intel.com/dpdk 2\n");
  EXPECT_THAT(Ask({"allocate", SocketOf("dpdk"), "0000:03:10.1"}).err, HasSubstr("NOT_FOUND"));
  EXPECT_EQ(Ask({"allocate", SocketOf("kernel"), "0000:03:10.1"}).status, 0);
}

TEST_F(PluginsTest, ResourcesComeAndGoWithConfigAndABadFileChangesNothing) {
  Process kubelet = StartKubelet();
  Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  WriteConfig("{");
  devices.WaitForOutput("resources stay as they were");
  WriteConfig(
      R"({"resourceList": [{"resourceName": "kernel", "selectors": {"drivers": ["iavf"], "pfNames": ["ens1"]}},
                                   {"resourceName": "card", "selectors": {"pfNames": ["ens2"]}}]})");
  kubelet.WaitForOutput("devices intel.com/card 0000:05:00.0@1\n");
  WriteConfig(
      R"({"resourceList": [{"resourceName": "kernel", "selectors": {"drivers": ["iavf"], "pfNames": ["ens1"]}},
                                   {"resourceName": "card", "excludeTopology": true, "selectors": {"pfNames": ["ens2"]}}]})");

  kubelet.WaitForOutput("devices intel.com/card 0000:05:00.0\n");
  WriteConfig(R"({"resourceList": []})");
  kubelet.WaitForOutput("devices intel.com/card \n");
  kubelet.WaitForOutput("devices intel.com/kernel \n");
  kubelet.Signal(SIGKILL);
  EXPECT_THAT(kubelet.Wait().out, Not(HasSubstr("ended")));
}

TEST_F(PluginsTest, BridgeIsAResourceWhileItIsThere) {
  constexpr const char* kBridge = "bridge.network.kubevirt.io/br0";
  const fs::path link = sysfs_.root() / "class/net/br0";
  const std::string socket = Kubelet() / "device-plugins/kuryr-bridge.network.kubevirt.io_br0.sock";
  fs::create_directories(link / "bridge");
  WritePods({{std::string(kBridge) + "#1", kBridge}});
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  const std::string devices_are = "devices " + std::string(kBridge) + " ";
  kubelet.WaitForOutput(devices_are + kBridge + "#0," + kBridge + "#1\n");

  const auto given = Ask({"allocate", socket, std::string(kBridge) + "#0"});

  EXPECT_EQ(given.out, "{\"environment\": {}, \"nodes\": []}\n") << given.err;
  const json status = json::parse(Status({"--json"}).out);
  EXPECT_EQ(status.at("bridges"), json::parse(R"([
    {"resource": "bridge.network.kubevirt.io/br0", "places": 2, "taken": 1}])"));
  fs::remove_all(link);
  sysfs_.AddOneVf("0000:03:00.0", 2);  // The device's folder tells of the change.
  kubelet.WaitForOutput(devices_are + "\n");
}

/// kuryr-devices believes that other devices are free only after the kubelet has been there for 10
/// s.
TEST_F(PluginsTest, DrainedNodeKeepsWhatPodsHaveAndGivesNoneAnew) {
  WritePods({{"0000:03:10.1", "intel.com/kernel"}});
  Process kubelet = StartKubelet();
  Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  EXPECT_EQ(Command("drain").out, "drained: free devices are no longer offered\n");
  EXPECT_EQ(Command("drain").out, "was drained already: free devices are not offered\n");
  kubelet.WaitForOutput("devices intel.com/kernel 0000:03:10.0!Unhealthy,0000:03:10.1@0\n", 30s);
  EXPECT_THAT(Status({}).out, HasSubstr("drained: what no pod has goes to none\n"));
  devices.Signal(SIGKILL);
  devices.Wait();
  Process next = StartDevices();
  next.WaitForOutput("devices are drained\"");

  EXPECT_EQ(Command("undrain").out, "free devices are offered again\n");
  next.WaitForOutput("devices are drained no longer");
  kubelet.WaitForOutput("registered intel.com/kernel 2\n");
  EXPECT_EQ(json::parse(Status({"--json"}).out).at("drains"), false);
}

TEST_F(PluginsTest, StopSaysNothingOfDevices) {
  Process kubelet = StartKubelet();
  Process devices = StartDevices();
  kubelet.WaitForOutput(kBoth);

  devices.Signal(SIGTERM);

  EXPECT_EQ(devices.Wait().status, 0);
  kubelet.WaitForOutput("ended intel.com/kernel UNAVAILABLE\n");
  kubelet.Signal(SIGKILL);
  EXPECT_THAT(kubelet.Wait().out, Not(HasSubstr("devices intel.com/kernel \n")));
}

TEST_F(PluginsTest, BadBridgeMappingIsNamedAtTheStart) {
  std::ofstream(Conf(), std::ios::app) << "[devices]\nbridge_mappings = physnet1\n";

  Process devices = StartDevices();

  const auto ended = devices.Wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err,
              HasSubstr("[devices] bridge_mappings: \"physnet1\"; expected PHYSNET:BRIDGE"));
}

TEST_F(PluginsTest, BadConfigIsNamedAtTheStart) {
  WriteConfig(R"({"resourceList": [{"resourceName": "net", "selectors": {"vendors": ["x"]}}]})");

  Process devices = StartDevices();

  const auto ended = devices.Wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("config.json: resource net: $.resourceList[0]"),
                               HasSubstr("vendors[0]: \"x\"; expected four hexadecimal digits")));
}

TEST_F(PluginsTest, StatusListsDevicesAndTheirPods) {
  WritePods({{"0000:03:10.1", "intel.com/kernel"}});
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput("registered intel.com/kernel 1\n");
  kubelet.WaitForOutput("registered intel.com/dpdk 1\n");

  const auto status = Status({});

  EXPECT_EQ(status.status, 0) << status.out << status.err;
  EXPECT_THAT(status.out, HasSubstr("2 resources, 3 devices, 2 of them offered\n"));
  EXPECT_THAT(status.out,
              HasSubstr("0000:03:10.1  intel.com/kernel  iavf    ens1  1   0     default/pod-0"));
  const auto of_pod = json::parse(Status({"--json", "default/pod-0"}).out);
  EXPECT_EQ(of_pod.at("devices").size(), 1U);
}

TEST_F(PluginsTest, DocsShowWhatStatusPrints) {
  WriteConfig(R"({"resourceList": [
    {"resourceName": "sriov_net", "selectors": {"drivers": ["iavf"], "pfNames": ["ens1"]}},
    {"resourceName": "sriov_dpdk", "selectors": {"drivers": ["vfio-pci"]}}]})");
  WritePods({{"0000:03:10.0", "intel.com/sriov_net"}});
  Process kubelet = StartKubelet();
  const Process devices = StartDevices();
  kubelet.WaitForOutput("registered intel.com/sriov_net 1\n");
  kubelet.WaitForOutput("registered intel.com/sriov_dpdk 1\n");
  std::ifstream file(test::SourceDir() + "/docs/device-plugins.md");
  const std::string docs{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto without_version = [](const std::string& text) {
    return std::regex_replace(text, std::regex("kuryr-devices [0-9.]+:"), "kuryr-devices:");
  };

  const std::string status = Status({}).out;

  EXPECT_THAT(without_version(docs),
              HasSubstr("$ kuryr-devices status\n" + without_version(status)));
}

TEST_F(PluginsTest, StatusTellsWhoDoesNotAnswer) {
  const auto status = Status({});

  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out, AllOf(HasSubstr("intel.com/kernel is not served: "),
                                HasSubstr("pods are not known: ")));
}

}  // namespace
}  // namespace kuryr::devices
