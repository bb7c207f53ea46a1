#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cni/plugin/fake_docker.h"
#include "tests/cni/plugin/plugin_fixture.h"
#include "tests/support/paths.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// kuryr-cni as a kubelet from before CNI executes it; containers are processes in namespaces of
/// their own.
class ExecPluginTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    const fs::path folder = work_ / "exec/openstack.org~kuryr";
    fs::create_directories(folder);
    program_ = folder / "kuryr";
    fs::create_symlink(test::BinDir() + "/kuryr-cni", program_);
    WriteConflist(R"([{"type":"kuryr-cni","kuryr_conf":")" + (work_ / "kuryr.conf").string() +
                  R"("},{"type":"portmap"}])");
  }

  void TearDown() override {
    sandboxes_.clear();
    if (!cgroup_.empty()) {
      fs::remove(cgroup_);
      ::umount2("/run/cgroup", MNT_DETACH);
    }
    PluginTest::TearDown();
  }

  void WriteConflist(const std::string& plugins) {
    std::ofstream(work_ / "10-kuryr.conflist")
        << R"({"cniVersion":"0.3.1","name":"kuryr","plugins":)" << plugins << "}";
  }

  /// The process that holds the pod's namespace, as "pause" does.
  pid_t StartSandbox(const TestPod& pod) {
    const binding::NetnsGuard guard(binding::Netns::Open(pod.netns));
    sandboxes_.emplace_back(Command{.argv = {"sleep", "1000"}});
    return sandboxes_.back().id();
  }

  /// Control groups are not the test's own.
  static void MakeUniqueOnMachine(TestPod& pod) { pod.container_id += std::to_string(::getpid()); }

  /// Into a control group of that name; false where the kernel has no cgroup2.
  bool PutIntoGroup(pid_t pid, const std::string& name) {
    fs::create_directory("/run/cgroup");
    if (cgroup_.empty() && ::mount("cgroup2", "/run/cgroup", "cgroup2", 0, nullptr) != 0)
      return false;
    cgroup_ = "/run/cgroup/" + name;
    fs::create_directory(cgroup_);
    std::ofstream(cgroup_ / "cgroup.procs") << pid << std::flush;
    return true;
  }

  [[nodiscard]] ProcessResult Kubelet(const std::vector<std::string>& arguments) const {
    Command call = Call("", {}, {{"NETCONFPATH", work_}, {"stdin", ""}});
    call.argv = {program_};
    call.argv.insert(call.argv.end(), arguments.begin(), arguments.end());
    std::erase_if(*call.env,
                  [](const auto& variable) { return variable.first.starts_with("CNI_"); });
    return RunProgram(call);
  }
  [[nodiscard]] ProcessResult Kubelet(const std::string& word, const TestPod& pod) const {
    return Kubelet({word, "default", pod.name, pod.container_id});
  }

  TestPod ActivePod() {
    TestPod pod = MakePod("nginx");
    Annotate(pod, Vif(pod, true));
    return pod;
  }

  fs::path program_;
  fs::path cgroup_;
  std::vector<Process> sandboxes_;
};

TEST_F(ExecPluginTest, APodOfDockersComesAndGoes) {
  const TestPod pod = ActivePod();
  const FakeDocker docker("/run/docker.sock", {{pod.container_id, StartSandbox(pod)}});
  ASSERT_EQ(Kubelet({"init"}).status, 0);

  const ProcessResult setup = Kubelet("setup", pod);

  ASSERT_EQ(setup.status, 0) << setup.err;
  EXPECT_EQ(setup.out + setup.err, "");
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
  EXPECT_THAT(RunIn(binding::Netns::Open(pod.netns), {"ip", "address", "show", "eth0"}),
              AllOf(HasSubstr(pod.ip + "/16"), HasSubstr(pod.mac)));

  // Both streams are the answer.
  const ProcessResult status = Kubelet("status", pod);
  EXPECT_EQ(status.status, 0);
  EXPECT_EQ(json::parse(status.out + status.err),
            (json{{"kind", "PodNetworkStatus"}, {"apiVersion", "v1beta1"}, {"ip", pod.ip}}));

  // Neither needs the API server.
  api_->StopListening();
  EXPECT_EQ(Kubelet("status", pod).status, 0);
  EXPECT_EQ(Kubelet("teardown", pod).status, 0);
  ExpectNothingLeft();
  EXPECT_EQ(Kubelet("teardown", pod).status, 0);
  const ProcessResult after = Kubelet("status", pod);
  EXPECT_EQ(after.status, 1);
  EXPECT_THAT(after.err, HasSubstr("is not attached"));
}

TEST_F(ExecPluginTest, AContainerIsKnownByItsControlGroupWhereThereIsNoDocker) {
  for (const std::string form : {"", "cri-containerd-"}) {
    TestPod pod = MakePod("p" + std::to_string(pods_made_));
    MakeUniqueOnMachine(pod);
    Annotate(pod, Vif(pod, true));
    const std::string group = form.empty() ? pod.container_id : form + pod.container_id + ".scope";
    if (!PutIntoGroup(StartSandbox(pod), group)) GTEST_SKIP() << "the kernel has no cgroup2";

    const ProcessResult setup = Kubelet({"setup", "default", pod.name, pod.container_id, "docker"});

    EXPECT_EQ(setup.status, 0) << setup.err;
    EXPECT_THAT(RunIn(binding::Netns::Open(pod.netns), {"ip", "address", "show", "eth0"}),
                HasSubstr(pod.ip + "/16"));
    sandboxes_.clear();
    EXPECT_EQ(Kubelet("teardown", pod).status, 0);
    ExpectNothingLeft();
    fs::remove(cgroup_);
  }
}

TEST_F(ExecPluginTest, AProcessOnTheNodesOwnNetworkIsNoSandbox) {
  TestPod pod = ActivePod();
  MakeUniqueOnMachine(pod);
  sandboxes_.emplace_back(Command{.argv = {"sleep", "1000"}});
  if (!PutIntoGroup(sandboxes_.back().id(), "crio-conmon-" + pod.container_id + ".scope"))
    GTEST_SKIP() << "the kernel has no cgroup2";

  const ProcessResult setup = Kubelet("setup", pod);

  EXPECT_EQ(setup.status, 1);
  EXPECT_THAT(setup.err, HasSubstr("does not run"));
  ExpectNothingLeft();
}

TEST_F(ExecPluginTest, ASetupThatFailsSaysWhyOnStderr) {
  const TestPod pod = MakePod("nginx");
  AnnotateText(pod, "{");
  const FakeDocker docker("/run/docker.sock", {{pod.container_id, StartSandbox(pod)}});

  const ProcessResult setup = Kubelet("setup", pod);

  EXPECT_EQ(setup.status, 1);
  EXPECT_EQ(setup.out, "");
  EXPECT_THAT(setup.err, HasSubstr("malformed VIF"));
  ExpectNothingLeft();
}

TEST_F(ExecPluginTest, AContainerThatDoesNotRunIsNotSetUp) {
  const TestPod pod = ActivePod();
  EXPECT_THAT(Kubelet("setup", pod).err, HasSubstr("does not run"));

  const FakeDocker docker("/run/docker.sock", {{pod.container_id, 0}});

  EXPECT_THAT(Kubelet("setup", pod).err, HasSubstr("does not run"));
  ExpectNothingLeft();
}

TEST_F(ExecPluginTest, HostileWordsAreRefused) {
  const TestPod pod = ActivePod();
  const FakeDocker docker("/run/docker.sock", {{pod.container_id, StartSandbox(pod)}});
  const std::vector<std::vector<std::string>> calls = {
      {"default", "nginx"},
      {"default", "nginx", ""},
      {"default", "nginx", "../" + pod.container_id},
      {"default", "nginx", pod.container_id + "/../x"},
      {"default", "nginx", pod.container_id + "?x=\r\nHost: y"},
      {"default", "nginx;K8S_POD_NAME=other", pod.container_id},
      {"default/pods", "nginx", pod.container_id},
      {"", "nginx", pod.container_id}};
  for (const auto& words : calls) {
    for (const char* word : {"setup", "teardown", "status"}) {
      std::vector<std::string> arguments = {word};
      arguments.insert(arguments.end(), words.begin(), words.end());

      const ProcessResult result = Kubelet(arguments);

      EXPECT_EQ(result.status, 1) << json(arguments);
      EXPECT_EQ(result.out, "");
      EXPECT_NE(result.err, "");
    }
  }
  EXPECT_TRUE(api_->Requests().empty());
  ExpectNothingLeft();
}

TEST_F(ExecPluginTest, InitRefusesAMalformedConfiguration) {
  WriteConflist(R"([{"type":"bridge"}])");
  EXPECT_THAT(Kubelet({"init"}).err, HasSubstr("no plugin of type kuryr-cni"));

  WriteConflist("[");
  EXPECT_THAT(Kubelet({"init"}).err, HasSubstr("10-kuryr.conflist"));

  const std::string text(size_t{2} << 20, ' ');
  WriteConflist(text);
  EXPECT_THAT(Kubelet({"init"}).err, HasSubstr("File too large"));

  WriteConflist(R"([{"type":"kuryr-cni","kuryr_conf":"/run/missing.conf"}])");
  const ProcessResult result = Kubelet({"init"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("/run/missing.conf"));
}

}  // namespace
}  // namespace kuryr::test
