#include "devices/ownership.h"

#include <gmock/gmock.h>

namespace kuryr::devices {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::vector<Resource> kResources = {
    {.name = "kernel", .selectors = {{.drivers = {"iavf"}}}},
    {.name = "dpdk", .selectors = {{.drivers = {"vfio-pci"}}}},
    {.name = "rest"},
    {.name = "fpga", .type = DeviceType::kAccelerator}};

TEST(OwnershipTest, FirstThatMatchesOwnsTheDevice) {
  const std::vector<Device> devices = {
      {.id = "a", .driver = "iavf"},
      {.id = "b", .driver = "vfio-pci"},
      {.id = "c", .driver = "i40e"},
      {.id = "d", .type = DeviceType::kAccelerator, .driver = "iavf"}};

  EXPECT_THAT(FindOwners(kResources, devices, {}),
              ElementsAre(Pair("a", "intel.com/kernel"), Pair("b", "intel.com/dpdk"),
                          Pair("c", "intel.com/rest"), Pair("d", "intel.com/fpga")));
}

TEST(OwnershipTest, DeviceOfAPodStaysWithItsResourceWhateverItsDriver) {
  const std::vector<Device> devices = {{.id = "a", .driver = "vfio-pci"}};

  EXPECT_THAT(FindOwners(kResources, devices, {{"a", "intel.com/kernel"}}),
              ElementsAre(Pair("a", "intel.com/kernel")));
}

TEST(OwnershipTest, DeviceOfAPodIsNobodysWhenItsResourceIsGone) {
  const std::vector<Device> devices = {{.id = "a", .driver = "iavf"}};

  EXPECT_THAT(FindOwners(kResources, devices, {{"a", "intel.com/gone"}}), IsEmpty());
}

TEST(OwnershipTest, DeviceThatIsNotThereHasNoOwner) {
  EXPECT_THAT(FindOwners(kResources, {}, {{"a", "intel.com/kernel"}}), IsEmpty());
}

}  // namespace
}  // namespace kuryr::devices
