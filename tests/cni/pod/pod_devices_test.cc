#include "cni/pod/pod_devices.h"

#include "tests/cni/device_fixture.h"

namespace kuryr::cni {
namespace {

using binding::VfAddress;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PodDevicesTest : public DeviceTest {
 protected:
  static json Wish(const std::string& id) { return {{"runtimeConfig", {{"deviceID", id}}}}; }
  static vif::PodVif Additional(const std::string& ifname, vif::Vif vif) {
    return {.ifname = ifname, .vif = std::move(vif)};
  }
  /// The devices that VIFs have after Assign.
  std::vector<std::string> Assigned(std::vector<vif::PodVif> vifs, const std::string& id) {
    Request request;
    request.pod = {.name_space = "default", .name = "web", .uid = kUid};
    request.wishes.device_id = id;
    PodDevices devices({.config = config_.devices,
                        .attachments = *attachments_,
                        .request = request,
                        .deadline = Deadline::After(std::chrono::seconds(60))});
    devices.Assign(vifs);
    std::vector<std::string> all;
    for (const vif::PodVif& vif : vifs) all.push_back(TextOf(vif.vif));
    return all;
  }
  static std::string TextOf(const vif::Vif& vif) {
    if (const auto* own = std::get_if<vif::VifSriov>(&vif))
      return own->dev_address.has_value() ? own->dev_address->ToString() : "none";
    if (const auto* own = std::get_if<vif::VifHostDevice>(&vif))
      return own->dev_address.has_value() ? own->dev_address->ToString() : "none";
    if (const auto* own = std::get_if<vif::VifDpdkNested>(&vif))
      return own->pci_address.value_or("none");
    return "no device";
  }
};

TEST_F(PodDevicesTest, TheRuntimesDeviceGoesIntoThePod) {
  const Container container = MakeContainer();

  const std::string result =
      Run("ADD", container, {Event({Default(WithoutDevice(2))})}, Wish(VfAddress(2)));

  EXPECT_EQ(DeviceOf(container), VfAddress(2));
  EXPECT_TRUE(HasLink(container));
  Run("CHECK", container, {}, {{"prevResult", json::parse(result)}});
  Run("DEL", container);
  EXPECT_TRUE(binding::RouteSocket().FindLink(binding::VfLink(2)).has_value());
}

TEST_F(PodDevicesTest, TheRuntimeSaysItInOneOfThreePlaces) {
  const json in_config = {{"deviceID", VfAddress(1)}};
  json in_both = in_config;
  in_both.update(Wish(VfAddress(2)));
  const std::string in_args = ";deviceID=" + VfAddress(3);
  const Container one = MakeContainer();
  const Container two = MakeContainer();
  const Container three = MakeContainer();

  Run("ADD", one, {Event({Default(WithoutDevice(1))})}, in_config, in_args);
  Run("ADD", two, {Event({Default(WithoutDevice(2))})}, in_both, in_args);
  Run("ADD", three, {Event({Default(WithoutDevice(3))})}, json::object(), in_args);

  EXPECT_EQ(DeviceOf(one), VfAddress(1));
  EXPECT_EQ(DeviceOf(two), VfAddress(2));
  EXPECT_EQ(DeviceOf(three), VfAddress(3));
}

TEST_F(PodDevicesTest, EveryKindThatTakesADeviceTakesTheRuntimes) {
  auto host_device = binding::HostDeviceVif(1);
  host_device.dev_address.reset();
  const std::vector<vif::Vif> kinds = {WithoutDevice(1), host_device, test::DpdkVif(1)};

  for (const vif::Vif& kind : kinds)
    EXPECT_THAT(Assigned({Default(kind)}, VfAddress(3)), ::testing::ElementsAre(VfAddress(3)));
  EXPECT_THAT(Assigned({Default(test::OvsVif(1)), Additional("eth1", binding::SriovVif(1)),
                        Additional("eth2", WithoutDevice(2))},
                       VfAddress(3)),
              ::testing::ElementsAre("no device", VfAddress(1), VfAddress(3)));
  EXPECT_THAT(Assigned({Default(test::OvsVif(1))}, "mlx5_core.sf.2"),
              ::testing::ElementsAre("no device"));
}

TEST_F(PodDevicesTest, AnotherDeviceThanThePlansIsRefusedWithBoth) {
  EXPECT_THAT(
      Refusal({Default(binding::SriovVif(1))}, Wish(VfAddress(2))),
      AllOf(StartsWith("2 the plan of pod default/web has no place for deviceID 0000:03:10.2"),
            HasSubstr("it has 0000:03:10.1 for eth0")));
  EXPECT_THAT(Refusal({Default(WithoutDevice(1))}, Wish("mlx5_core.sf.2")),
              StartsWith("7 deviceID \"mlx5_core.sf.2\" is no PCI address"));
  const Container container = MakeContainer();
  Run("ADD", container, {Event({Default(binding::SriovVif(1))})}, Wish(VfAddress(1)));
  EXPECT_EQ(DeviceOf(container), VfAddress(1));
}

TEST_F(PodDevicesTest, TheKubeletsFirstDeviceThatNobodyHasIsTaken) {
  StartKubelet({VfAddress(3), VfAddress(1), VfAddress(2), "mlx5_core.sf.2"});
  const Container one = MakeContainer();
  const Container two = MakeContainer();

  Run("ADD", one, {Event({Default(WithoutDevice(1))})});
  TakeFromHost(1);
  Run("ADD", two, {Event({Default(WithoutDevice(2))})});

  EXPECT_EQ(DeviceOf(one), VfAddress(1));
  EXPECT_EQ(DeviceOf(two), VfAddress(2));
}

TEST_F(PodDevicesTest, VifsOfOnePodGetDevicesOfTheirOwn) {
  StartKubelet({VfAddress(1), VfAddress(2), VfAddress(3)});

  EXPECT_THAT(Assigned({Default(WithoutDevice(1)), Additional("eth1", binding::SriovVif(2)),
                        Additional("eth2", WithoutDevice(3))},
                       ""),
              ::testing::ElementsAre(VfAddress(1), VfAddress(2), VfAddress(3)));
  EXPECT_THAT(
      Assigned({Default(WithoutDevice(1)), Additional("eth1", WithoutDevice(2))}, VfAddress(1)),
      ::testing::ElementsAre(VfAddress(1), VfAddress(2)));
}

TEST_F(PodDevicesTest, AnEventThatTellsThePlanAnewChangesNothing) {
  StartKubelet({VfAddress(1), VfAddress(2)});
  auto waiting = WithoutDevice(1);
  waiting.active = false;
  const Container container = MakeContainer();

  Run("ADD", container, {Event({Default(waiting)}), Event({Default(WithoutDevice(1))})});

  EXPECT_EQ(DeviceOf(container), VfAddress(1));
  EXPECT_EQ(times_asked_, 1);
}

TEST_F(PodDevicesTest, DevicesInUseAreNamedAndNotWhoHasThem) {
  StartKubelet({VfAddress(1)});
  const Container container = MakeContainer();
  Run("ADD", container, {Event({Default(WithoutDevice(1))})});

  EXPECT_THAT(Refusal({Default(WithoutDevice(2))}),
              AllOf(StartsWith("11 no device of resource intel.com/port_a is left for VIF eth0 of "
                               "pod default/web"),
                    EndsWith("the kubelet gave the pod 0000:03:10.1; in use are 0000:03:10.1")));
}

TEST_F(PodDevicesTest, ARefusalSaysWhatTheKubeletSaid) {
  const std::vector<vif::PodVif> vifs = {Default(WithoutDevice(1))};
  EXPECT_THAT(Refusal(vifs), AllOf(StartsWith("11 no device of resource intel.com/port_a for VIF "
                                              "eth0 of pod default/web"),
                                   HasSubstr("/run/kubelet/pod-resources/kubelet.sock"),
                                   HasSubstr("[devices] kubelet_dir")));
  StartKubelet({VfAddress(1)}, "other");
  EXPECT_THAT(Refusal(vifs), HasSubstr("the kubelet does not know the pod"));
  StartKubelet({});
  EXPECT_THAT(Refusal(vifs), HasSubstr("a container of the pod has to ask for the resource"));
  StartKubelet({"mlx5_core.sf.2"});
  EXPECT_THAT(Refusal(vifs), HasSubstr("gave the pod mlx5_core.sf.2, and no PCI device"));
  config_.devices.resources = {{"physnet1", "intel.com/port_b"}};
  EXPECT_THAT(Refusal(vifs), AllOf(HasSubstr("resource intel.com/port_b"),
                                   HasSubstr("those of intel.com/port_a alone")));
}

TEST_F(PodDevicesTest, APhysnetWithoutAResourceIsRefused) {
  StartKubelet({VfAddress(1)});
  auto other = WithoutDevice(1);
  other.physnet = std::string("physnet2");

  EXPECT_THAT(Refusal({Default(other)}),
              AllOf(StartsWith("7 VIF eth0 of pod default/web names no device"),
                    HasSubstr("[sriov] physnet_resource_mappings"), HasSubstr("\"physnet2\"")));
  EXPECT_EQ(times_asked_, 0);
}

}  // namespace
}  // namespace kuryr::cni
