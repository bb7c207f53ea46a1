#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/config_file.h"
#include "devices/inventory.h"
#include "devices/ownership.h"
#include "devices/resource_list.h"
#include "tests/devices/fake_devices.h"

namespace kuryr::devices {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// The configurations that sriov-network-device-plugin documents (3.11), with every field and
/// comma. The node has the devices for them: Intel's card ens1 with VFs 0 to 3, Mellanox' card p0
/// with VFs 0 to 3 and subfunctions 1 and 7.
class DocumentedConfigsTest : public ::testing::Test {
 protected:
  static constexpr const char* kIntel = "0000:03:00.0";
  static constexpr const char* kMellanox = "0000:07:00.0";

  DocumentedConfigsTest() {
    sysfs_.AddVfs(kIntel, 2);
    for (int number = 2; number < 4; ++number) sysfs_.AddOneVf(kIntel, number, "vfio-pci");
    sysfs_.AddCard(kMellanox, "p0", 0);
    sysfs_.AddVfs(kMellanox, 4, "mlx5_core");
    for (int number = 0; number < 4; ++number) MakeMellanox(VfOfMellanox(number));
    MakeMellanox(kMellanox);
    sysfs_.AddFolder(VfOfMellanox(0), "infiniband_verbs/uverbs0");
    AddVdpa(VfOfMellanox(1), "vhost");
    AddVdpa(VfOfMellanox(2), "virtio");
    for (const char* number : {"1", "7"}) AddSubfunction(number);
    sysfs_.Set("0000:05:00.0", {{"class", "0x120000"}, {"device", "0x0d90"}});
  }

  static std::string VfOfMellanox(int number) { return "0000:07:10." + std::to_string(number); }
  void MakeMellanox(const std::string& address) {
    sysfs_.Set(address, {{"vendor", "0x15b3"}, {"device", "0x101e"}});
  }
  void AddVdpa(const std::string& address, const std::string& type) {
    sysfs_.AddFolder(address, "vdpa0/vhost-vdpa-0");
    fs::create_symlink("../../bus/vdpa/drivers/" + type + "_vdpa",
                       sysfs_.Device(address) / "vdpa0/driver");
  }
  void AddSubfunction(const std::string& number) {
    const std::string name = "mlx5_core.sf." + number;
    sysfs_.Set(kMellanox, {{name + "/sfnum", number}});
    fs::create_directories(sysfs_.root() / "bus/auxiliary/devices");
    fs::create_symlink("../../pci/devices/" + std::string(kMellanox) + "/" + name,
                       sysfs_.root() / "bus/auxiliary/devices" / name);
  }

  /// The devices of each resource: "03:10.0 03:10.1 "; resources without devices are left out.
  [[nodiscard]] std::map<std::string, std::string> Offered(const std::string& config) const {
    const auto resources = ParseResourceList(config, "intel.com", "config.json");
    std::vector<Device> devices = FindDevices(sysfs_.root(), {});
    for (Device& device : devices) device.ddp_profile = "a profile";
    std::map<std::string, std::string> offered;
    for (const auto& [id, resource] : FindOwners(resources, devices, {}))
      offered[resource] += (id.starts_with("0000:") ? id.substr(5) : id) + " ";
    return offered;
  }

  const TempFolder folder_;
  FakeDevices sysfs_{folder_.path()};
};

/// README.md, "Config parameters", and deployments/configMap.yaml; with a comma behind a list, and
/// former and present forms of selectors beside each other.
TEST_F(DocumentedConfigsTest, ListOfReadmeIsTaken) {
  EXPECT_THAT(
      Offered(R"({
    "resourceList": [{
            "resourceName": "kernel_vfs",
            "selectors": [{"vendors": ["8086"], "devices": ["154c", "10ed", "1889"],
                           "drivers": ["i40evf", "iavf", "ixgbevf"]}]
        },
        {
            "resourceName": "dpdk_vfs",
            "resourcePrefix": "intel.com",
            "selectors": [{"vendors": ["8086"], "devices": ["154c", "10ed", "1889"],
                           "drivers": ["vfio-pci"], "pfNames": ["ens1","ens7f1"],
                           "needVhostNet": true}]
        },
        {
            "resourceName": "rdma_vfs",
            "resourcePrefix": "example.com",
            "selectors": [{"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"],
                           "isRdma": true}]
        },
        {
            "resourceName": "infiniband",
            "selectors": [{"linkTypes": ["infiniband"], "isRdma": true}]
        },
        {
            "resourceName": "vdpa",
            "selectors": [{"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"],
                           "vdpaType": "vhost"}]
        },
        {
            "resourceName": "fpga",
            "deviceType": "accelerator",
            "selectors": [{"vendors": ["8086"], "devices": ["0d90"]}]
        },
        {
            "resourceName": "sf",
            "resourcePrefix": "example.com",
            "deviceType": "auxNetDevice",
            "selectors": [{"vendors": ["15b3"], "devices": ["101e"], "pfNames": ["p0#1-5"],
                           "auxTypes": ["sf"]}]
        },
        {
          "resourceName": "with_information",
          "selectors": [{"vendors": ["8086"], "devices": ["154c"], "drivers": ["iavf"]}],
          "additionalInfo": {
             "*": {
               "token": "of-all"
             }
          }
        },
        {
            "resourceName": "bnxt",
            "resourcePrefix": "broadcom.example",
            "selectors": [{"vendors": ["14e4"], "devices": ["1750"], "drivers": ["bnxt_en"]}],
        },
        {
          "resourceName": "former_form",
          "selectors": {"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"]}
	}
    ]
})"),
      ElementsAre(
          Pair("example.com/rdma_vfs", "07:10.0 "), Pair("example.com/sf", "mlx5_core.sf.1 "),
          Pair("intel.com/dpdk_vfs", "03:10.2 03:10.3 "),
          Pair("intel.com/former_form", "07:10.2 07:10.3 "), Pair("intel.com/fpga", "05:00.0 "),
          Pair("intel.com/kernel_vfs", "03:10.0 03:10.1 "), Pair("intel.com/vdpa", "07:10.1 ")));
}

/// README.md's tables and paragraphs of selectors, each with its example.
TEST_F(DocumentedConfigsTest, EachSelectorOfTheTablesIsTaken) {
  sysfs_.Set("0000:03:10.1", {{"acpi_index", "101"}});
  sysfs_.Set(VfOfMellanox(3), {{"infiniband/mlx5_3/ports/1/pkeys/0", "0x0050"}});
  const auto offered = [this](const std::string& selectors, const std::string& more = "") {
    const auto all = Offered(R"({"resourceList": [{"resourceName": "a", "selectors": )" +
                             selectors + more + "}]}");
    return all.empty() ? "" : all.begin()->second;
  };

  EXPECT_EQ(offered(R"([{"vendors": ["8086", "14e4"], "devices": ["154c"]}])"),
            "03:10.0 03:10.1 03:10.2 03:10.3 ");
  EXPECT_EQ(offered(R"({"drivers": ["vfio-pci"]})"), "03:10.2 03:10.3 ");
  EXPECT_EQ(offered(R"({"pciAddresses": ["0000:03:10.1"]})"), "03:10.1 ");
  EXPECT_EQ(offered(R"({"acpiIndexes": ["101"]})"), "03:10.1 ");
  EXPECT_EQ(offered(R"({"pfNames": ["ens1#0,2-7,9"]})"), "03:10.0 03:10.2 03:10.3 ");
  EXPECT_EQ(offered(R"({"pfNames": ["ens1"]})"), "03:10.0 03:10.1 03:10.2 03:10.3 ");
  EXPECT_EQ(offered(R"({"rootDevices": ["0000:03:00.0#0-1,3,4"]})"), "03:10.0 03:10.1 03:10.3 ");
  EXPECT_EQ(offered(R"({"linkTypes": ["ether"], "vendors": ["8086"]})"), "03:10.0 03:10.1 ");
  EXPECT_EQ(offered(R"({"ddpProfiles": ["a profile"], "drivers": ["iavf"]})"), "03:10.0 03:10.1 ");
  EXPECT_EQ(offered(R"({"pKeys": ["0x1", "0xABCD", "0x50"]})"), "07:10.3 ");
  EXPECT_EQ(offered(R"({"isRdma": true})"), "07:10.0 07:10.3 ");
  EXPECT_EQ(offered(R"({"needVhostNet": true, "drivers": ["iavf"]})"), "03:10.0 03:10.1 ");
  EXPECT_EQ(offered(R"({"vdpaType": "virtio"})"), "07:10.2 ");
  EXPECT_EQ(offered(R"({"auxTypes": ["sf", "eth"]})", R"(, "deviceType": "auxNetDevice")"),
            "mlx5_core.sf.1 mlx5_core.sf.7 ");
  EXPECT_EQ(offered(R"({"vendors": ["8086"], "devices": ["154c"]})",
                    R"(, "excludeTopology": true, "additionalInfo": {
                       "*": {"token": "of-all"}, "0000:03:10.1": {"other-token": "of-one"}})"),
            "03:10.0 03:10.1 03:10.2 03:10.3 ");
}

/// docs/dpdk, one for several kinds of cards, and one for virtual machines.
TEST_F(DocumentedConfigsTest, ThoseOfDpdkAreTaken) {
  EXPECT_THAT(Offered(R"({"resourceList": [
        {"resourcePrefix": "dpdk.example", "resourceName": "nic",
         "selectors": [{"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"], "isRdma": true},
                       {"vendors": ["8086"], "devices": ["154c"], "drivers": ["vfio-pci"]}]}]})"),
              ElementsAre(Pair("dpdk.example/nic", "03:10.2 03:10.3 07:10.0 ")));
  EXPECT_THAT(
      Offered(R"({
      "resourceList": [
        {
          "resourceName": "downlink",
          "selectors": [{
            "drivers": [
              "vfio-pci"
            ],
            "pciAddresses": [
              "0000:03:10.1",
              "0000:03:10.2"
            ],
          }],
        },
        {
          "resourceName": "uplink",
          "selectors": [{
            "drivers": [
              "vfio-pci"
            ],
            "pciAddresses": [
              "0000:03:10.3"
            ],
          }],
        }
      ]
    })"),
      ElementsAre(Pair("intel.com/downlink", "03:10.2 "), Pair("intel.com/uplink", "03:10.3 ")));
}

/// docs/rdma. isRdma was a field of a resource once; it is not read there any more.
TEST_F(DocumentedConfigsTest, ThoseOfRdmaAreTaken) {
  EXPECT_THAT(Offered(R"({"resourceList": [
            {"resourceName": "rdma", "resourcePrefix": "example.com",
             "selectors": [{"vendors": ["15b3"], "devices": ["1016", "101e"],
                            "drivers": ["mlx5_core"], "isRdma": true}]},
            {"resourceName": "intel_rdma",
             "selectors": {"vendors": ["8086"], "devices": ["1889"], "drivers": ["iavf"],
                           "isRdma": true}}]})"),
              ElementsAre(Pair("example.com/rdma", "07:10.0 ")));
  EXPECT_THAT(Offered(R"({"resourceList": [
            {"resourceName": "rdma", "isRdma": true,
             "selectors": {"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_ib", "mlx5_core"]}}]})"),
              ElementsAre(Pair("intel.com/rdma", "07:10.0 07:10.1 07:10.2 07:10.3 ")));
}

/// docs/subfunctions, with a comma behind the last selector.
TEST_F(DocumentedConfigsTest, ThatOfSubfunctionsIsTaken) {
  EXPECT_THAT(Offered(R"({"resourceList": [
        {
            "resourceName": "vf",
            "resourcePrefix": "example.com",
            "selectors": {
                "vendors": ["15b3"],
                "devices": ["101e"],
            }
        },
        {
            "resourceName": "sf",
            "resourcePrefix": "example.com",
            "deviceType": "auxNetDevice",
            "selectors": {
                "vendors": ["15b3"],
                "devices": ["101e"],
                "auxTypes": ["sf"]
            }
        }
    ]})"),
              ElementsAre(Pair("example.com/sf", "mlx5_core.sf.1 mlx5_core.sf.7 "),
                          Pair("example.com/vf", "07:10.0 07:10.1 07:10.2 07:10.3 ")));
}

/// docs/ddp.
TEST_F(DocumentedConfigsTest, ThatOfDdpProfilesIsTaken) {
  EXPECT_THAT(Offered(R"({"resourceList": [
             {"resourceName": "default_profile",
              "selectors": [{"vendors": ["8086"], "devices": ["154c"], "ddpProfiles": ["another"]}]},
             {"resourceName": "own_profile",
              "selectors": {"vendors": ["8086"], "devices": ["154c"],
                            "ddpProfiles": ["a profile"]}}]})"),
              ElementsAre(Pair("intel.com/own_profile", "03:10.0 03:10.1 03:10.2 03:10.3 ")));
}

/// docs/config-file, with a file for each node.
TEST_F(DocumentedConfigsTest, FileOfOneNodeIsTaken) {
  EXPECT_THAT(
      Offered(
          R"({"resourceList":[{"resourceName":"nics","selectors":{"pfNames":["ens1#0-1","ens2#0-9"],)"
          R"("IsRdma":false,"NeedVhostNet":false},"SelectorObj":null}]})"),
      ElementsAre(Pair("intel.com/nics", "03:10.0 03:10.1 ")));
}

/// docs/vdpa, corrected: its file has a brace too many, which that plugin refuses as well.
TEST_F(DocumentedConfigsTest, ThatOfVdpaIsTakenWithoutItsFault) {
  const std::string resources = R"({
                "resourceName": "virtio",
                "selectors": [{"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"],
                               "vdpaType": "virtio"}]
            },
            {
                "resourceName": "vhost",
                "selectors": [{"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"],
                               "vdpaType": "vhost"}]
            }
        ]
    })";
  EXPECT_THAT(
      Offered(R"({"resourceList": [)" + resources),
      ElementsAre(Pair("intel.com/vhost", "07:10.1 "), Pair("intel.com/virtio", "07:10.2 ")));
  try {
    (void)Offered(R"({"resourceList": [{)" + resources);
    ADD_FAILURE() << "taken";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("config.json: $: no JSON at byte"));
  }
}

}  // namespace
}  // namespace kuryr::devices
