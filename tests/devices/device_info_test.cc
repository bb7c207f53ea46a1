#include "devices/device_info.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/devices/fake_devices.h"

namespace kuryr::devices {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Device At(const std::string& address) {
  return {.id = address, .function = vif::PciAddress::Parse(address).value()};
}

class DeviceInfoTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temp_.path() / "dp"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] json Read(const std::string& name) const {
    return json::parse(std::ifstream(temp_.path() / "dp" / name));
  }

  const TempFolder temp_;
  const DeviceInfoFolder folder_{temp_.path()};
  const std::vector<Resource> resources_ = {{.name = "net"}};
};

TEST_F(DeviceInfoTest, FileSaysWhatTheDeviceIs) {
  Device device = At("0000:03:10.1");
  device.root_device = vif::PciAddress::Parse("0000:03:00.0").value();
  device.rdma_name = "mlx5_2";

  folder_.Write(resources_, {device}, {{device.id, "intel.com/net"}});

  EXPECT_EQ(Read("intel.com-net-0000:03:10.1-device.json"),
            json::parse(R"({"type": "pci", "version": "1.1.0",
                            "pci": {"pci-address": "0000:03:10.1", "pf-pci-address": "0000:03:00.0",
                                    "rdma-device": "mlx5_2"}})"));
}

TEST_F(DeviceInfoTest, FileSaysWhatAVdpaDeviceIs) {
  Device device = At("0000:03:10.1");
  device.root_device = device.function;
  device.vdpa = Vdpa{.name = "vdpa0", .path = "/dev/vhost-vdpa-0"};

  folder_.Write(resources_, {device}, {{device.id, "intel.com/net"}});

  EXPECT_EQ(Read("intel.com-net-0000:03:10.1-device.json"),
            json::parse(R"({"type": "vdpa", "version": "1.1.0",
                            "vdpa": {"parent-device": "vdpa0", "driver": "vhost",
                                     "path": "/dev/vhost-vdpa-0", "pci-address": "0000:03:10.1"}})"));
}

TEST_F(DeviceInfoTest, WhatIsNoFileIsReplacedAndNotRead) {
  const Device device = At("0000:03:10.1");
  const std::string name = "intel.com-net-0000:03:10.1-device.json";
  std::filesystem::create_directories(temp_.path() / "dp");
  ASSERT_EQ(::mkfifo((temp_.path() / "dp" / name).c_str(), 0666), 0);

  folder_.Write(resources_, {device}, {{device.id, "intel.com/net"}});

  EXPECT_EQ(Read(name).at("type"), "pci");
}

TEST_F(DeviceInfoTest, FilesOfFormerDevicesGoAndThoseOfOthersStay) {
  const Device device = At("0000:03:10.1");
  const std::vector<Device> devices = {device, At("0000:03:10.2")};
  folder_.Write(resources_, devices,
                {{"0000:03:10.1", "intel.com/net"}, {"0000:03:10.2", "intel.com/net"}});
  for (const char* other : {"intel.com-net-b-0000:03:10.3-device.json", "README"})
    std::ofstream(temp_.path() / "dp" / other) << "{}";

  folder_.Write(resources_, {device}, {{device.id, "intel.com/net"}});

  EXPECT_THAT(Files(), ElementsAre("README", "intel.com-net-0000:03:10.1-device.json",
                                   "intel.com-net-b-0000:03:10.3-device.json"));
}

TEST_F(DeviceInfoTest, NextProcessReadsWhoseTheDevicesWere) {
  const std::vector<Device> devices = {At("0000:03:10.1"), At("0000:03:10.2")};
  EXPECT_THAT(folder_.Read(resources_, devices), IsEmpty());
  folder_.Write(resources_, devices, {{"0000:03:10.2", "intel.com/net"}});

  EXPECT_THAT(folder_.Read(resources_, devices),
              ElementsAre(Pair("0000:03:10.2", "intel.com/net")));
}

}  // namespace
}  // namespace kuryr::devices
