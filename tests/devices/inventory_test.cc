#include "devices/inventory.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "devices/selector.h"
#include "tests/devices/fake_devices.h"

namespace kuryr::devices {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class InventoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Device> All(const std::set<std::string>& links_in_use = {}) const {
    return FindDevices(sysfs_.root(), links_in_use);
  }
  [[nodiscard]] std::vector<std::string> Ids(const std::set<std::string>& links_in_use = {}) const {
    std::vector<std::string> ids;
    for (const Device& device : All(links_in_use)) ids.push_back(device.id);
    return ids;
  }
  [[nodiscard]] Device Find(const std::string& id) const {
    const auto all = All();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Device& each) { return each.id == id; });
    EXPECT_NE(found, all.end()) << id;
    return found == all.end() ? Device() : *found;
  }

  const TempFolder folder_;
  FakeDevices sysfs_{folder_.path()};
};

TEST_F(InventoryTest, VirtualFunctionIsDescribed) {
  sysfs_.AddVfs("0000:05:00.0", 3);

  const Device device = Find("0000:05:10.2");

  EXPECT_EQ(device.type, DeviceType::kNetDevice);
  EXPECT_EQ(device.vendor, "8086");
  EXPECT_EQ(device.code, "154c");
  EXPECT_EQ(device.driver, "iavf");
  EXPECT_EQ(device.pf, "ens2");
  EXPECT_EQ(device.root_device.ToString(), "0000:05:00.0");
  EXPECT_EQ(device.number, 2U);
  EXPECT_EQ(device.link_type, "ether");
  EXPECT_EQ(device.numa_node, 1U);
}

TEST_F(InventoryTest, PhysicalFunctionsWithVfsAreLeftOut) {
  EXPECT_THAT(Ids(), ElementsAre("0000:03:00.0", "0000:05:00.0"));

  sysfs_.AddVfs("0000:03:00.0", 1);

  EXPECT_THAT(Ids(), ElementsAre("0000:03:10.0", "0000:05:00.0"));
}

TEST_F(InventoryTest, WhatTheNodeNeedsIsLeftOut) {
  sysfs_.AddVfs("0000:03:00.0", 2);
  EXPECT_THAT(Ids({"v03n1", "ens2"}), ElementsAre("0000:03:10.0"));

  FakeDevices::Write(sysfs_.root() / "class/net/ens2/upper_br0", "");

  EXPECT_THAT(Ids(), ElementsAre("0000:03:10.0", "0000:03:10.1"));
}

TEST_F(InventoryTest, OtherClassesAreLeftOut) {
  sysfs_.Set("0000:03:00.0", {{"class", "0x010802"}});
  sysfs_.Set("0000:05:00.0", {{"class", "0x120000"}});

  EXPECT_THAT(Ids(), ElementsAre("0000:05:00.0"));
  EXPECT_EQ(Find("0000:05:00.0").type, DeviceType::kAccelerator);
}

TEST_F(InventoryTest, LinkTypeStaysWhileTheLinkIsInAPod) {
  sysfs_.AddVfs("0000:03:00.0", 1);
  sysfs_.SetLinkOf("0000:03:10.0", "");

  EXPECT_EQ(Find("0000:03:10.0").link_type, "ether");

  sysfs_.SetDriver("0000:03:10.0", "vfio-pci");
  EXPECT_EQ(Find("0000:03:10.0").link_type, "") << "it has none";
}

TEST_F(InventoryTest, InfinibandIsToldByItsLinkOrItsPort) {
  sysfs_.SetAttribute("ens1", "type", "32");
  sysfs_.SetAttribute("ens1", "pkey", "0x8001");
  EXPECT_EQ(Find("0000:03:00.0").link_type, "infiniband");
  EXPECT_EQ(Find("0000:03:00.0").pkey, 0x8001);

  sysfs_.SetAttribute("ens1", "pkey", "");
  sysfs_.Set("0000:03:00.0", {{"infiniband/mlx5_0/ports/1/pkeys/0", "0xffff"}});

  EXPECT_EQ(Find("0000:03:00.0").pkey, 0xffff);
  EXPECT_EQ(Find("0000:03:00.0").rdma_name, "mlx5_0");
}

TEST_F(InventoryTest, NodesAreFound) {
  sysfs_.AddFolder("0000:03:00.0", "infiniband_verbs/uverbs0");
  sysfs_.AddFolder("0000:03:00.0", "infiniband_mad/umad0");
  sysfs_.AddFolder("0000:03:00.0", "infiniband_mad/issm0");
  sysfs_.AddFolder("0000:05:00.0", "uio/uio3");
  std::filesystem::create_symlink("../../../kernel/iommu_groups/42",
                                  sysfs_.Device("0000:05:00.0") / "iommu_group");

  EXPECT_THAT(Find("0000:03:00.0").rdma_nodes, ElementsAre("uverbs0", "issm0", "umad0"));
  EXPECT_EQ(Find("0000:05:00.0").uio_node, "uio3");
  EXPECT_EQ(Find("0000:05:00.0").vfio_group, "42");
  EXPECT_FALSE(Find("0000:05:00.0").vfio_without_iommu);
}

TEST_F(InventoryTest, VdpaDeviceIsFound) {
  sysfs_.AddFolder("0000:03:00.0", "vdpa3/vhost-vdpa-1");
  std::filesystem::create_symlink("../../bus/vdpa/drivers/vhost_vdpa",
                                  sysfs_.Device("0000:03:00.0") / "vdpa3/driver");
  sysfs_.AddFolder("0000:05:00.0", "vdpa4");
  std::filesystem::create_symlink("../../bus/vdpa/drivers/virtio_vdpa",
                                  sysfs_.Device("0000:05:00.0") / "vdpa4/driver");

  EXPECT_EQ(Find("0000:03:00.0").vdpa,
            (Vdpa{.name = "vdpa3", .type = VdpaType::kVhost, .path = "/dev/vhost-vdpa-1"}));
  EXPECT_EQ(Find("0000:05:00.0").vdpa, (Vdpa{.name = "vdpa4", .type = VdpaType::kVirtio}));
}

TEST_F(InventoryTest, SubfunctionsAreFoundAndTheFunctionsOwnPartsLeftOut) {
  std::filesystem::create_directories(sysfs_.root() / "bus/auxiliary/devices");
  for (const char* name : {"mlx5_core.sf.4", "mlx5_core.eth.0"}) {
    sysfs_.AddFolder("0000:03:00.0", name);
    std::filesystem::create_symlink("../../pci/devices/0000:03:00.0/" + std::string(name),
                                    sysfs_.root() / "bus/auxiliary/devices" / name);
  }
  sysfs_.Set("0000:03:00.0", {{"mlx5_core.sf.4/sfnum", "88"}});

  const Device device = Find("mlx5_core.sf.4");

  EXPECT_THAT(Ids(), ElementsAre("0000:03:00.0", "0000:05:00.0", "mlx5_core.sf.4"));
  EXPECT_EQ(device.type, DeviceType::kAuxNetDevice);
  EXPECT_EQ(device.aux_type, "sf");
  EXPECT_EQ(device.number, 88U);
  EXPECT_EQ(device.pf, "ens1");
  EXPECT_EQ(device.vendor, "8086");
}

TEST_F(InventoryTest, NodeWithoutPciHasNoDevices) {
  std::filesystem::remove_all(sysfs_.root() / "bus/pci");
  EXPECT_THAT(Ids(), IsEmpty());

  std::filesystem::remove_all(sysfs_.root() / "bus");
  EXPECT_THROW((void)All(), std::system_error);
}

TEST_F(InventoryTest, EachSelectorMatchesByOneOfItsElements) {
  sysfs_.AddVfs("0000:03:00.0", 4);
  sysfs_.Set("0000:03:10.1", {{"acpi_index", "7"}});
  const auto selected = [this](const Selector& selector) {
    std::string ids;
    for (const Device& device : All()) {
      if (selector.Matches(device)) ids += device.id.substr(5) + " ";
    }
    return ids;
  };

  EXPECT_EQ(selected({.vendors = {"15b3"}}), "");
  EXPECT_EQ(selected({.codes = {"ffff", "158b"}}), "05:00.0 ");
  EXPECT_EQ(selected({.pf_names = {FunctionSet::Parse("ens1#0,2-3").value()}}),
            "03:10.0 03:10.2 03:10.3 ");
  EXPECT_EQ(selected({.pf_names = {FunctionSet::Parse("ens2").value()}}), "05:00.0 ");
  EXPECT_EQ(selected({.pf_names = {FunctionSet::Parse("ens2#0").value()}}), "");
  EXPECT_EQ(selected({.root_devices = {FunctionSet::Parse("0000:03:00.0#1").value()}}), "03:10.1 ");
  EXPECT_EQ(selected({.pci_addresses = {"0000:03:10.2"}}), "03:10.2 ");
  EXPECT_EQ(selected({.acpi_indexes = {"7"}}), "03:10.1 ");
  EXPECT_EQ(selected({.link_types = {"infiniband"}}), "");
  EXPECT_EQ(selected({.pkeys = {1}}), "");
  EXPECT_EQ(selected({.is_rdma = true}), "");
  EXPECT_EQ(selected({.vdpa_type = VdpaType::kVhost}), "");
  EXPECT_EQ(selected({.codes = {"154c"}, .drivers = {"ixgbevf"}}), "") << "each has to match";
}

}  // namespace
}  // namespace kuryr::devices
