#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DelTest : public PluginTest {
 protected:
  TestPod AddedPod(const std::string& name = "nginx") {
    TestPod pod = MakePod(name);
    Annotate(pod, Vif(pod, true));
    const ProcessResult result = Run("ADD", pod);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return pod;
  }
  void ExpectDeleted(const TestPod& pod, const std::map<std::string, std::string>& options = {}) {
    const ProcessResult result = Run("DEL", pod, options);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(result.out, "");
  }
};

TEST_F(DelTest, DEL_01_02_03_RemovesEverythingAndMayBeRepeated) {
  const TestPod pod = AddedPod();

  for (int i = 0; i < 3; ++i) {
    ExpectDeleted(pod);
    ExpectNothingLeft();
  }
  EXPECT_EQ(
      RunIn(binding::Netns::Open(pod.netns), {"ip", "-brief", "link", "show", "type", "veth"}), "");
}

TEST_F(DelTest, ALogFileThatCannotBeWrittenIsNoReasonToFail) {
  const TestPod pod = AddedPod();
  WriteConfig(DefaultKubernetes(), "[DEFAULT]\nlog_file = /proc/no/such.log\n");

  ExpectDeleted(pod);
  ExpectNothingLeft();
}

TEST_F(DelTest, DEL_04_AContainerNeverSeen) {
  TestPod pod = AddedPod();
  TestPod stranger = pod;
  stranger.container_id = "stranger";

  ExpectDeleted(stranger);

  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(DelTest, DEL_04_AContainerNeverSeenWithOpenVSwitchDown) {
  const TestPod pod = MakePod("nginx");
  ovs_->StopVswitchd();
  ovs_->StopServer();

  ExpectDeleted(pod);
}

TEST_F(DelTest, DEL_05_06_NoNamespaceNamed) {
  ExpectDeleted(AddedPod(), {{"CNI_NETNS", ""}});
  ExpectNothingLeft();
}

TEST_F(DelTest, DEL_07_18_TheNamespaceGone) {
  const TestPod pod = AddedPod();
  ASSERT_EQ(::umount(pod.netns.c_str()), 0);
  std::filesystem::remove(pod.netns);

  ExpectDeleted(pod);

  ExpectNothingLeft();
}

TEST_F(DelTest, DEL_09_TheNamespacesPathIsSomethingElseNow) {
  const TestPod pod = AddedPod();
  const TestPod other = AddedPod("other");

  ExpectDeleted(pod, {{"CNI_NETNS", other.netns}});

  EXPECT_THAT(Ports(), ElementsAre(other.tap));
  EXPECT_NE(RunIn(binding::Netns::Open(other.netns), {"ip", "-brief", "link", "show", "eth0"}), "");
}

TEST_F(DelTest, DEL_15_TheStateLost) {
  const TestPod pod = AddedPod();
  const TestPod other = AddedPod("other");
  std::filesystem::remove_all(work_ / "state");

  ExpectDeleted(pod);

  EXPECT_THAT(Ports(), ElementsAre(other.tap));
  EXPECT_EQ(HostVeths().size(), 1U);
}

TEST_F(DelTest, AReadOnlyStateFolderKeepsTheRecordAlone) {
  const TestPod pod = AddedPod();
  const std::filesystem::path state = work_ / "state";
  ASSERT_EQ(::mount(state.c_str(), state.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(::mount(nullptr, state.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0);

  const ProcessResult result = Run("DEL", pod);
  const ProcessResult again = Run("DEL", pod);
  ASSERT_EQ(::umount2(state.c_str(), MNT_DETACH), 0);

  EXPECT_THAT(Ports(), IsEmpty());
  EXPECT_THAT(HostVeths(), IsEmpty());
  for (const ProcessResult& failed : {result, again}) {
    const json error = json::parse(failed.out);
    EXPECT_EQ(error["code"], 5);
    EXPECT_THAT(error["msg"], HasSubstr(state.string()));
    EXPECT_THAT(error["details"], HasSubstr("[cni_daemon] state_dir has to be writable"));
  }
  ExpectDeleted(pod);
  ExpectNothingLeft();
}

TEST_F(DelTest, DEL_16_TheApiServerGone) {
  const TestPod pod = AddedPod();
  api_.reset();

  ExpectDeleted(pod);

  ExpectNothingLeft();
}

TEST_F(DelTest, OpenVSwitchDownKeepsTheRecordForTheNextDel) {
  const TestPod pod = AddedPod();
  ovs_->StopVswitchd();
  ovs_->StopServer();
  EXPECT_EQ(Run("DEL", pod).status, 1);
  EXPECT_EQ(Records().size(), 1U);

  ovs_->StartServer();
  ovs_->StartVswitchd();

  ExpectDeleted(pod);
  ExpectNothingLeft();
}

TEST_F(DelTest, CON_05_ARunningAddIsEndedAndLeavesNothing) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  ExpectDeleted(pod);

  const ProcessResult result = add.Wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(json::parse(result.out)["code"], 11);
  ExpectNothingLeft();
}

TEST_F(DelTest, TwoAtOnce) {
  const TestPod pod = AddedPod();

  Process first(Call("DEL", pod));
  Process second(Call("DEL", pod));

  EXPECT_EQ(first.Wait().status, 0);
  EXPECT_EQ(second.Wait().status, 0);
  ExpectNothingLeft();
}

/// Runtimes kill an ADD that hangs, and then call DEL.
TEST_F(DelTest, CON_02_AnAddKilledAtAnyMomentLeavesNothingAfterDel) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, true));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(Run("ADD", pod).status, 0);
  const auto whole = std::chrono::steady_clock::now() - start;
  ExpectDeleted(pod);

  const int killed = KillAdds(pod, whole, [&] {
    ExpectDeleted(pod);
    ExpectNothingLeft();
  });

  EXPECT_GT(killed, 0);
}

TEST_F(DelTest, AfterAKilledAddTheNextSandboxsAddWorksWithoutADel) {
  TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  {
    Process add(Call("ADD", pod));
    WaitUntilPlugged(pod);
    add.Signal(SIGKILL);
    (void)add.Wait();
  }
  Annotate(pod, Vif(pod, true));
  TestPod sandbox = pod;
  sandbox.container_id = std::string(64, 'd');
  sandbox.netns = MakePodNetnsPath();

  EXPECT_EQ(Run("ADD", sandbox).status, 0);

  ExpectDeleted(pod);
  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
  ExpectDeleted(sandbox);
  ExpectNothingLeft();
}

TEST_F(DelTest, AKilledAddIsRepeatedForTheSameContainer) {
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  {
    Process add(Call("ADD", pod));
    WaitUntilPlugged(pod);
    add.Signal(SIGKILL);
    (void)add.Wait();
  }
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(Run("ADD", pod).status, 0);

  ExpectDeleted(pod);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace kuryr::test
