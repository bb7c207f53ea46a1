#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kubelet/methods.h"
#include "kubelet/podresources.pb.h"
#include "tests/cni/plugin/plugin_fixture.h"
#include "tests/kubelet/kubelet_fixture.h"

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The programs on a node whose kubelet gave a pod a device that there is not.
class DeviceTest : public PluginTest {
 protected:
  static constexpr const char* kDevice = "0000:fe:1f.7";

  void SetUp() override {
    PluginTest::SetUp();
    WriteConfig(DefaultKubernetes(), "[devices]\nkubelet_dir = " + (work_ / "kubelet").string() +
                                         "\n[sriov]\nphysnet_resource_mappings = physnet1:port_a\n"
                                         "[binding]\ndrivers = sriov\n");
    pod_ = MakePod("web");
    json vif = Vif(pod_, true);
    vif["versioned_object.name"] = "VIFSriov";
    json& data = vif["versioned_object.data"];
    data["plugin"] = "sriov";
    data["physnet"] = "physnet1";
    data.erase("port_profile");
    data.erase("bridge_name");
    Annotate(pod_, vif);
  }
  void StartKubelet() {
    kubelet::v1::ListPodResourcesResponse answer;
    kubelet::v1::PodResources& pod = *answer.add_pod_resources();
    pod.set_name("web");
    pod.set_namespace_("default");
    kubelet::v1::ContainerDevices& devices = *pod.add_containers()->add_devices();
    devices.set_resource_name("intel.com/port_a");
    devices.add_device_ids(kDevice);
    std::filesystem::create_directories(work_ / "kubelet/pod-resources");
    kubelet_.emplace((work_ / "kubelet/pod-resources/kubelet.sock").string(),
                     kubelet::Methods{.unary = {{kubelet::kListPodResourcesAlpha,
                                                 [bytes = answer.SerializeAsString()](const auto&) {
                                                   return bytes;
                                                 }}}});
  }
  void ExpectAsked() {
    EXPECT_THAT(FailedAdd(pod_).dump(),
                AllOf(HasSubstr("pod-resources/kubelet.sock"), HasSubstr("[devices] kubelet_dir")));
    StartKubelet();
    EXPECT_THAT(FailedAdd(pod_).dump(), HasSubstr("0000:fe:1f.7 is no virtual function"));
  }

  TestPod pod_;
  std::optional<kubelet::RunningServer> kubelet_;
};

TEST_F(DeviceTest, ThePluginAsksTheKubelet) { ExpectAsked(); }

TEST_F(DeviceTest, TheAgentAsksTheKubelet) {
  StartAgent();

  ExpectAsked();
}

}  // namespace
}  // namespace kuryr::test
