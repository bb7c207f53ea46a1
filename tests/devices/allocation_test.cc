#include "devices/allocation.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/devices/fake_devices.h"

namespace kuryr::devices {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AllocationTest : public ::testing::Test {
 protected:
  AllocationTest() {
    for (const char* name : {"vhost-net", "tun", "rdma_cm"})
      std::filesystem::create_directories(folder_.path() / "class/misc" / name);
  }

  [[nodiscard]] kubelet::v1beta1::ContainerAllocateResponse Give(
      const Resource& resource, const std::vector<Device>& devices) const {
    return Allocate(resource, devices, folder_.path());
  }
  [[nodiscard]] json InfoOf(const Resource& resource, const Device& device) const {
    return json::parse(Give(resource, {device}).envs().at(VariableOf(resource) + "_INFO"))
        .at(device.id);
  }
  /// The device nodes: "/dev/vfio/42", or "HOST=CONTAINER" if the paths differ.
  [[nodiscard]] std::vector<std::string> NodesOf(const Resource& resource,
                                                 const std::vector<Device>& devices) const {
    std::vector<std::string> nodes;
    const auto response = Give(resource, devices);
    for (const auto& node : response.devices()) {
      EXPECT_EQ(node.permissions(), "rw");
      const bool is_same = node.host_path() == node.container_path();
      nodes.push_back((is_same ? "" : node.host_path() + "=") + node.container_path());
    }
    return nodes;
  }

  const TempFolder folder_;
  const Resource net_{.prefix = "example.com", .name = "sriov-net.a"};
};

TEST_F(AllocationTest, EnvironmentListsTheDevices) {
  const auto response = Give(net_, {{.id = "0000:03:10.0"}, {.id = "0000:03:10.1"}});

  EXPECT_EQ(response.envs().at("PCIDEVICE_EXAMPLE_COM_SRIOV-NET_A"), "0000:03:10.0,0000:03:10.1");
  EXPECT_EQ(json::parse(response.envs().at("PCIDEVICE_EXAMPLE_COM_SRIOV-NET_A_INFO")),
            json::parse(R"({"0000:03:10.0": {"generic": {"deviceID": "0000:03:10.0"}},
                            "0000:03:10.1": {"generic": {"deviceID": "0000:03:10.1"}}})"));
  EXPECT_THAT(NodesOf(net_, {{.id = "0000:03:10.0", .driver = "iavf"}}), IsEmpty());
}

TEST_F(AllocationTest, VfioGroupsAreGivenAndTheirContainerOnce) {
  const std::vector<Device> devices = {
      {.id = "a", .driver = "vfio-pci", .vfio_group = "42"},
      {.id = "b", .driver = "vfio-pci", .vfio_group = "7", .vfio_without_iommu = true}};

  EXPECT_THAT(NodesOf(net_, devices),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/42", "/dev/vfio/noiommu-7=/dev/vfio/7"));
  EXPECT_EQ(InfoOf(net_, devices[0]).at("vfio"),
            json::parse(R"({"mount": "/dev/vfio/vfio", "dev-mount": "/dev/vfio/42"})"));
}

TEST_F(AllocationTest, UioNodeIsGiven) {
  const Device device{.id = "a", .driver = "uio_pci_generic", .uio_node = "uio3"};

  EXPECT_THAT(NodesOf(net_, {device}), ElementsAre("/dev/uio3"));
  EXPECT_EQ(InfoOf(net_, device).at("uio"), json::parse(R"({"mount": "/dev/uio3"})"));
}

TEST_F(AllocationTest, RdmaNodesAreGivenWhereTheSelectorAsksForThem) {
  const Resource rdma{.name = "rdma", .selectors = {{.is_rdma = true}}};
  const Device device{
      .id = "a", .rdma_nodes = {"uverbs0", "umad0", "issm0"}, .rdma_name = "mlx5_0"};

  EXPECT_THAT(NodesOf(net_, {device}), IsEmpty());
  EXPECT_THAT(NodesOf(rdma, {device}),
              ElementsAre("/dev/infiniband/uverbs0", "/dev/infiniband/umad0",
                          "/dev/infiniband/issm0", "/dev/infiniband/rdma_cm"));
  EXPECT_EQ(InfoOf(rdma, device).at("rdma"),
            json::parse(R"({"uverbs": "/dev/infiniband/uverbs0", "umad": "/dev/infiniband/umad0",
                            "issm": "/dev/infiniband/issm0", "rdma_cm": "/dev/infiniband/rdma_cm",
                            "rdma_dev": "mlx5_0"})"));
}

TEST_F(AllocationTest, VhostNodesAreGivenWhereTheKernelHasThem) {
  const Resource vhost{.name = "vhost", .selectors = {{.need_vhost_net = true}}};
  EXPECT_THAT(NodesOf(vhost, {{.id = "a"}}), ElementsAre("/dev/vhost-net", "/dev/net/tun"));
  EXPECT_EQ(InfoOf(vhost, {.id = "a"}).at("vhost"),
            json::parse(R"({"net-mount": "/dev/vhost-net", "tun-mount": "/dev/net/tun"})"));

  std::filesystem::remove(folder_.path() / "class/misc/vhost-net");

  EXPECT_THAT(NodesOf(vhost, {{.id = "a"}}), IsEmpty());
}

TEST_F(AllocationTest, VdpaNodeIsGiven) {
  const Resource vdpa{.name = "vdpa", .selectors = {{.vdpa_type = VdpaType::kVhost}}};
  const Device device{.id = "a", .vdpa = Vdpa{.name = "vdpa0", .path = "/dev/vhost-vdpa-0"}};

  EXPECT_THAT(NodesOf(vdpa, {device}), ElementsAre("/dev/vhost-vdpa-0"));
  EXPECT_EQ(InfoOf(vdpa, device).at("vdpa"), json::parse(R"({"mount": "/dev/vhost-vdpa-0"})"));
}

TEST_F(AllocationTest, AdditionalInfoOfTheDeviceWinsOverThatOfAll) {
  const Resource resource{
      .name = "net",
      .additional_info = {{"*", {{"zone", "all"}, {"speed", "25"}}}, {"a", {{"zone", "one"}}}}};

  EXPECT_EQ(InfoOf(resource, {.id = "a"}).at("extra"),
            json::parse(R"({"zone": "one", "speed": "25"})"));
  EXPECT_EQ(InfoOf(resource, {.id = "b"}).at("extra"),
            json::parse(R"({"zone": "all", "speed": "25"})"));
}

}  // namespace
}  // namespace kuryr::devices
