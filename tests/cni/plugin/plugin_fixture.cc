#include "tests/cni/plugin/plugin_fixture.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "tests/support/environment.h"
#include "tests/support/paths.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// containerd takes the pairs out of a map: their order is random on every call.
std::string Args(const TestPod& pod) {
  std::vector<std::string> pairs = {
      "IgnoreUnknown=1", "K8S_POD_NAMESPACE=default", "K8S_POD_NAME=" + pod.name,
      "K8S_POD_INFRA_CONTAINER_ID=" + pod.container_id, "K8S_POD_UID=" + pod.uid};
  thread_local std::mt19937 random{std::random_device{}()};
  std::shuffle(pairs.begin(), pairs.end(), random);
  std::string text;
  for (const std::string& pair : pairs) text += (text.empty() ? "" : ";") + pair;
  return text;
}

json& Data(json& object, const char* field) { return object["versioned_object.data"][field]; }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

void PluginTest::SetUp() {
  NetnsTest::SetUp();
  work_ = "/run/kuryr-test";
  fs::create_directory(work_);
  ovs_ = std::make_unique<PrivateOvs>(work_);
  api_ = std::make_unique<fake::FakeApiServer>(
      fake::Options{.tls = fake::TestTls(), .users = {{.name = "kuryr", .token = kToken}}});
  std::ofstream(work_ / "token") << kToken;
  WriteConfig(DefaultKubernetes());
}

void PluginTest::TearDown() {
  agent_.reset();
  api_.reset();
  ovs_.reset();
  NetnsTest::TearDown();
}

std::string PluginTest::DefaultKubernetes() const {
  return "api_root = " + api_->url() + "\nssl_ca_crt_file = " + fake::FakeApiServer::ca_file() +
         "\ntoken_file = " + (work_ / "token").string() + "\n";
}

int PluginTest::KillAdds(const TestPod& pod, std::chrono::nanoseconds whole,
                         const std::function<void()>& after,
                         const std::map<std::string, std::string>& options) const {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> moment(0, whole.count());
  const int count = FromEnvironment("KURYR_KILLED_ADDS", 20);
  int killed = 0;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    Process add(Call("ADD", pod, options));
    // The moment is what is tested.
    std::this_thread::sleep_for(std::chrono::nanoseconds(moment(random)));
    add.Signal(SIGKILL);
    killed += add.Wait().status == 128 + SIGKILL ? 1 : 0;
    after();
  }
  return killed;
}

void PluginTest::WriteConfig(const std::string& kubernetes, const std::string& rest) {
  std::ofstream(work_ / "kuryr.conf")
      << "[kubernetes]\n"
      << kubernetes << "node_name = node1\n[cni_daemon]\nstate_dir = " << (work_ / "state").string()
      << "\nbind_address = unix:" << agent_socket().string()
      << "\n[os_vif_ovs]\novsdb_connection = " << ovs_->remote()
      << "\ndatapath_type = " << PrivateOvs::datapath_type() << "\n"
      << rest;
}

void PluginTest::StartAgent(const std::vector<std::string>& before) {
  std::vector<std::string> argv = before;
  for (const std::string& word : {test::BinDir() + "/kuryr-daemon", std::string("--config-file"),
                                  (work_ / "kuryr.conf").string()})
    argv.push_back(word);
  agent_.emplace(Command{.argv = argv});
  agent_->WaitForOutput("msg=ready");
}

TestPod PluginTest::MakePod(const std::string& name) {
  const int number = ++pods_made_;
  char hex[5];
  std::snprintf(hex, sizeof hex, "%04x", number);
  TestPod pod;
  pod.name = name;
  pod.uid = api_->Create({{"apiVersion", "v1"},
                          {"kind", "Pod"},
                          {"metadata", {{"name", name}}},
                          {"spec", {{"nodeName", "node1"}}}})["metadata"]["uid"];
  pod.container_id = std::string(60, 'c') + hex;
  pod.netns = MakePodNetnsPath();
  pod.port_id = std::string(hex) + "4e00-fc3e-4f2d-8d9c-1e0c2a7f5b11";
  pod.tap = "tap" + pod.port_id.substr(0, 11);
  pod.mac = std::string("fa:16:3e:29:") + hex[0] + hex[1] + ":" + hex[2] + hex[3];
  pod.ip =
      "10.10." + std::to_string(1 + (7 + number) / 250) + "." + std::to_string((7 + number) % 250);
  pod.ip6 = "fd00:10::" + std::to_string(7 + number);
  return pod;
}

json PluginTest::Vif(const TestPod& pod, bool active) const {
  json vif = json::parse(std::ifstream(test::TestData() + "/demo/vif.json"));
  Data(vif, "id") = pod.port_id;
  Data(Data(vif, "port_profile"), "interface_id") = pod.port_id;
  Data(vif, "vif_name") = pod.tap;
  Data(vif, "address") = pod.mac;
  Data(vif, "active") = active;
  json& subnets = Data(Data(Data(vif, "network"), "subnets"), "objects");
  Data(Data(Data(subnets[0], "ips"), "objects")[0], "address") = pod.ip;
  Data(Data(Data(subnets[1], "ips"), "objects")[0], "address") = pod.ip6;
  return vif;
}

void PluginTest::Annotate(const TestPod& pod, const json& vif) { AnnotateText(pod, vif.dump()); }

void PluginTest::AnnotateText(const TestPod& pod, const std::string& text) {
  api_->Patch("pods", "default", pod.name,
              {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", text}}}}}});
}

Command PluginTest::Call(const std::string& command, const TestPod& pod,
                         const std::map<std::string, std::string>& options) const {
  std::map<std::string, std::string> env = {
      {"CNI_COMMAND", command},  {"CNI_CONTAINERID", pod.container_id},
      {"CNI_NETNS", pod.netns},  {"CNI_IFNAME", "eth0"},
      {"CNI_ARGS", Args(pod)},   {"CNI_PATH", "/opt/cni/bin"},
      {"PATH", "/usr/bin:/bin"}, {"LD_LIBRARY_PATH", "/opt/lib:"}};
  std::string input = R"({"cniVersion":"0.3.1","kuryr_conf":")" + (work_ / "kuryr.conf").string() +
                      R"(","name":"kuryr","type":"kuryr-cni"})";
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) env[name] = value;
  }
  for (const auto& [name, value] : options) {
    if (name == "stdin") {
      input = value;
    } else {
      env[name] = value;
    }
  }
  return {.argv = {test::BinDir() + "/kuryr-cni"}, .input = input, .env = env};
}

ProcessResult PluginTest::Run(const std::string& command, const TestPod& pod,
                              const std::map<std::string, std::string>& options) const {
  return RunProgram(Call(command, pod, options));
}

json PluginTest::FailedAdd(const TestPod& pod, const std::map<std::string, std::string>& options) {
  const ProcessResult result = Run("ADD", pod, options);
  EXPECT_EQ(result.status, 1) << result.err;
  ExpectNothingLeft();
  json error = json::parse(result.out, nullptr, false);
  EXPECT_TRUE(error.is_object() && error.contains("code")) << result.out << result.err;
  return error;
}

std::vector<std::string> PluginTest::Ports() {
  return Lines(
      ovs_->Vsctl({"--no-wait", "--bare", "--columns=name", "find", "Port", "name!=br-int"}));
}

std::vector<std::string> PluginTest::HostVeths() const {
  return Lines(RunOnHost({"ip", "-brief", "link", "show", "type", "veth"}));
}

std::vector<std::string> PluginTest::Records() const {
  std::vector<std::string> names;
  if (!fs::exists(work_ / "state/attachments")) return names;
  for (const auto& entry : fs::directory_iterator(work_ / "state/attachments")) {
    names.push_back(entry.path().filename());
  }
  return names;
}

void PluginTest::ExpectNothingLeft() {
  EXPECT_EQ(Ports(), std::vector<std::string>());
  EXPECT_EQ(HostVeths(), std::vector<std::string>());
  EXPECT_EQ(Records(), std::vector<std::string>());
}

void PluginTest::InstallAsOvn(const TestPod& pod) {
  const std::string bridge = ovs_->Vsctl({"iface-to-br", pod.tap});
  const std::string number = ovs_->Vsctl({"get", "Interface", pod.tap, "ofport"});
  (void)RunProgram(
      {.argv = {"ovs-ofctl", "add-flow", "unix:" + (ovs_->folder() / (bridge + ".mgmt")).string(),
                "in_port=" + number + " actions=normal"}});
  ovs_->Vsctl({"--no-wait", "set", "Interface", pod.tap, "external_ids:ovn-installed=true"});
}

void PluginTest::WaitUntilPlugged(const TestPod& pod) {
  ovs_->Vsctl({"--timeout=20", "wait-until", "Interface", pod.tap, "ofport>0"});
}

}  // namespace kuryr::test
