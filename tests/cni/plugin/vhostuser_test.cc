#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::IsEmpty;

/// Pods on a node whose Open vSwitch has DPDK.
class VhostUserTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    ovs_->StopVswitchd();
    try {
      if (!ovs_->StartVswitchdWithDpdk())
        GTEST_SKIP() << "openvswitch-switch-dpdk is not installed";
    } catch (const std::system_error& e) {
      GTEST_SKIP() << "DPDK does not start on this machine: " << e.what();
    }
    fs::create_directory(mount_point_);
    WriteConfig(DefaultKubernetes(), "[vhostuser]\nmount_point = " + mount_point_.string() +
                                         "\novs_vhu_path = " + ovs_->folder().string() +
                                         "\n[binding]\ndrivers = vhostuser\n");
  }
  TestPod MakeVhostPod(const std::string& name) {
    TestPod pod = MakePod(name);
    json vif = Vif(pod, true);
    vif["versioned_object.name"] = "VIFVHostUser";
    vif["versioned_object.version"] = "1.1";
    json& data = vif["versioned_object.data"];
    const std::string port = "vhu" + pod.port_id.substr(0, 11);
    data.erase("bridge_name");
    data["vif_name"] = port;
    data["path"] = mount_point_ / port;
    data["mode"] = "client";
    Annotate(pod, vif);
    return pod;
  }
  void ExpectDeleted(const TestPod& pod) {
    const ProcessResult result = Run("DEL", pod);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_TRUE(fs::is_empty(mount_point_));
    EXPECT_THAT(Ports(), IsEmpty());
    EXPECT_THAT(Records(), IsEmpty());
  }

  const fs::path mount_point_ = "/run/vhostuser";
};

TEST_F(VhostUserTest, TheResultHasTheAddressesAndAnInterfaceForThem) {
  const TestPod pod = MakeVhostPod("one");

  const ProcessResult added = Run("ADD", pod);

  ASSERT_EQ(added.status, 0) << added.out << added.err;
  const json result = json::parse(added.out);
  EXPECT_EQ(result["interfaces"],
            json::array({{{"name", "eth0"}, {"mac", pod.mac}, {"sandbox", pod.netns}}}));
  EXPECT_EQ(result["ips"][0]["address"], pod.ip + "/16");
  EXPECT_EQ(result["ips"][0]["interface"], 0);
  EXPECT_TRUE(fs::exists(mount_point_ / (pod.container_id + "-eth0")));
  ExpectDeleted(pod);
}

TEST_F(VhostUserTest, DelWithoutARecordFindsThePort) {
  const TestPod pod = MakeVhostPod("one");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  fs::remove_all(work_ / "state");

  ExpectDeleted(pod);
}

TEST_F(VhostUserTest, CON_02_AnAddKilledAtAnyMomentLeavesNothingAfterDel) {
  const TestPod pod = MakeVhostPod("one");
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(Run("ADD", pod).status, 0);
  const auto whole = std::chrono::steady_clock::now() - start;
  ExpectDeleted(pod);

  EXPECT_GT(KillAdds(pod, whole, [&] { ExpectDeleted(pod); }), 0);
}

}  // namespace
}  // namespace kuryr::test
