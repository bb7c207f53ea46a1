#include "devices/resource_list.h"

#include <gmock/gmock.h>

#include <string>

#include "config/config_file.h"

namespace kuryr::devices {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

std::vector<Resource> Parse(const std::string& text) {
  return ParseResourceList(text, "intel.com", "config.json");
}

std::string FailureOf(const std::string& text) {
  try {
    return "taken: " + std::to_string(Parse(text).size());
  } catch (const ConfigError& e) {
    return e.what();
  }
}

/// A list of one resource "net" with these selectors.
std::string WithSelectors(const std::string& selectors) {
  return R"({"resourceList": [{"resourceName": "net", "selectors": )" + selectors + "}]}";
}

std::string FailureOfSelectors(const std::string& selectors) {
  return FailureOf(WithSelectors(selectors));
}

TEST(ResourceListTest, OneOfEachKindIsTaken) {
  const auto resources = Parse(R"({"resourceList": [
    {"resourceName": "kernel_vfs",
     "selectors": {"vendors": ["8086"], "devices": ["154C", "1889"], "drivers": ["iavf"]}},
    {"resourceName": "dpdk_vfs", "resourcePrefix": "example.com", "excludeTopology": true,
     "selectors": [{"drivers": ["vfio-pci"], "pfNames": ["ens1f0#0,2-7", "ens2f1"]},
                   {"rootDevices": ["0000:86:00.0#1"], "needVhostNet": true}],
     "additionalInfo": {"*": {"token": "all"}, "0000:86:02.1": {"token": "one"}}},
    {"resourceName": "rdma", "selectors": {"isRdma": true, "linkTypes": ["infiniband"], "pKeys": ["0x8001"]}},
    {"resourceName": "vdpa", "selectors": {"vdpaType": "vhost", "acpiIndexes": ["101"]}},
    {"resourceName": "gtp", "selectors": {"ddpProfiles": ["GTPv1-C/U IPv4/IPv6 payload"]}},
    {"resourceName": "fpga", "deviceType": "accelerator",
     "selectors": {"devices": ["0d90"], "acpiIndexes": ["101"]}},
    {"resourceName": "sf", "deviceType": "auxNetDevice",
     "selectors": {"auxTypes": ["sf"], "acpiIndexes": ["7"]}}]})");

  ASSERT_THAT(resources, SizeIs(7));
  EXPECT_EQ(resources[0].FullName(), "intel.com/kernel_vfs");
  EXPECT_EQ(resources[0].selectors,
            (std::vector<Selector>{
                {.vendors = {"8086"}, .codes = {"154c", "1889"}, .drivers = {"iavf"}}}));
  EXPECT_EQ(resources[1].FullName(), "example.com/dpdk_vfs");
  EXPECT_TRUE(resources[1].exclude_topology);
  ASSERT_THAT(resources[1].selectors, SizeIs(2));
  EXPECT_EQ(resources[1].selectors[0].pf_names[0].pf, "ens1f0");
  EXPECT_THAT(resources[1].selectors[0].pf_names[0].numbers.value(),
              ElementsAre(Pair(0, 0), Pair(2, 7)));
  EXPECT_FALSE(resources[1].selectors[0].pf_names[1].numbers);
  EXPECT_TRUE(resources[1].selectors[1].need_vhost_net);
  EXPECT_EQ(resources[1].additional_info.at("0000:86:02.1").at("token"), "one");
  EXPECT_TRUE(resources[2].selectors[0].is_rdma);
  EXPECT_THAT(resources[2].selectors[0].pkeys, ElementsAre(0x8001));
  EXPECT_EQ(resources[3].selectors[0].vdpa_type, VdpaType::kVhost);
  EXPECT_THAT(resources[4].selectors[0].ddp_profiles, ElementsAre("GTPv1-C/U IPv4/IPv6 payload"));
  EXPECT_EQ(resources[5].type, DeviceType::kAccelerator);
  EXPECT_THAT(resources[5].selectors[0].acpi_indexes, ElementsAre("101"));
  EXPECT_EQ(resources[6].type, DeviceType::kAuxNetDevice);
  EXPECT_THAT(resources[6].selectors[0].acpi_indexes, ElementsAre("7"));
}

TEST(ResourceListTest, WhatIsAbsentNullOrEmptyMatchesEveryDevice) {
  for (const char* selectors : {"null", "{}", "[]", R"({"vendors": []})"}) {
    const auto resources = Parse(WithSelectors(selectors));

    ASSERT_THAT(resources, SizeIs(1)) << selectors;
    EXPECT_TRUE(resources[0].Matches(Device{.vendor = "8086"})) << selectors;
  }
}

TEST(ResourceListTest, CommaBehindTheLastElementIsPassedOver) {
  const auto resources = Parse(R"({"resourceList": [
    {"resourceName": "net", "selectors": [{"drivers": ["a,]", "\",}",], },], }, ], })");

  ASSERT_THAT(resources, SizeIs(1));
  EXPECT_THAT(resources[0].selectors[0].drivers, ElementsAre("a,]", "\",}"));
  EXPECT_THAT(FailureOfSelectors(R"({"drivers": ["a",,]})"), HasSubstr("no JSON at byte"));
}

TEST(ResourceListTest, NamesOfFieldsCountInEitherCase) {
  const auto resources =
      Parse(R"({"ResourceList": [{"ResourceName": "net", "SELECTORS": {"Vendors": ["8086"]}}]})");

  ASSERT_THAT(resources, SizeIs(1));
  EXPECT_THAT(resources[0].selectors[0].vendors, ElementsAre("8086"));
}

TEST(ResourceListTest, UnknownFieldOfAResourceIsPassedOver) {
  EXPECT_THAT(Parse(R"({"resourceList": [{"resourceName": "net", "isRdma": true}]})"), SizeIs(1));
}

TEST(ResourceListTest, UnknownSelectorIsRefused) {
  EXPECT_THAT(FailureOfSelectors(R"({"pfName": ["ens1"]})"),
              AllOf(HasSubstr("config.json: resource net: "),
                    HasSubstr("$.resourceList[0].selectors.pfName")));
  EXPECT_THAT(FailureOf(R"({"resourceList": [{"resourceName": "x", "deviceType": "accelerator",
                           "selectors": {"pfNames": ["ens1"]}}]})"),
              HasSubstr("selectors.pfNames: no selector of this deviceType"));
}

TEST(ResourceListTest, ErrorsNameResourceAndField) {
  const std::pair<const char*, const char*> failures[] = {
      {R"({"vendors": "8086"})", "selectors.vendors: string; expected a list"},
      {R"({"vendors": ["0x8086"]})", "selectors.vendors[0]: \"0x8086\"; expected four hexadecimal"},
      {R"({"vendors": [8086]})", "selectors.vendors[0]: number; expected a text"},
      {R"([{}, {"devices": ["15"]}])", "selectors[1].devices[0]: \"15\"; expected four"},
      {R"({"pciAddresses": ["03:10.1"]})",
       "selectors.pciAddresses[0]: \"03:10.1\"; expected a PCI"},
      {R"({"pfNames": ["ens1#7-2"]})", "selectors.pfNames[0]: \"ens1#7-2\"; expected NAME"},
      {R"({"pfNames": ["ens1#"]})", "selectors.pfNames[0]"},
      {R"({"pfNames": ["#1"]})", "selectors.pfNames[0]"},
      {R"({"pfNames": ["ens1#1,,2"]})", "selectors.pfNames[0]"},
      {R"({"rootDevices": ["ens1"]})",
       "selectors.rootDevices[0]: \"ens1\"; expected a PCI address"},
      {R"({"linkTypes": ["ethernet"]})", "expected ether or infiniband"},
      {R"({"pKeys": ["fffff"]})", "selectors.pKeys[0]"},
      {R"({"isRdma": "true"})", "selectors.isRdma: string; expected true or false"},
      {R"({"isRdma": true, "vdpaType": "vhost"})", "vdpaType and isRdma exclude each other"},
      {R"({"vdpaType": "net"})", "expected vhost or virtio"},
      {R"({"ddpProfiles": "GTP"})", "selectors.ddpProfiles: string; expected a list"},
      {R"("all")", "selectors: string; expected an object"}};
  for (const auto& [selectors, expected] : failures) {
    EXPECT_THAT(FailureOfSelectors(selectors),
                AllOf(HasSubstr("config.json: resource net: "), HasSubstr(expected)))
        << selectors;
  }
}

TEST(ResourceListTest, NamesAreKubernetesAndStandThereOnce) {
  const std::pair<const char*, const char*> failures[] = {
      {R"([{}])", "$.resourceList[0].resourceName: \"\"; expected 1 to 63"},
      {R"([{"resourceName": "a/b"}])", "resourceName: \"a/b\""},
      {R"([{"resourceName": "_a"}])", "resourceName: \"_a\""},
      {R"([{"resourceName": "a", "resourcePrefix": "Intel_com"}])",
       "resourcePrefix: \"Intel_com\""},
      {R"([{"resourceName": "a", "deviceType": "gpu"}])",
       "deviceType: \"gpu\"; expected netDevice"},
      {R"([{"resourceName": "a"}, {"resourceName": "a"}])", "intel.com/a stands here twice"},
      {R"({})", "$.resourceList: expected a list"},
      {R"([7])", "$.resourceList[0]: number; expected an object"}};
  for (const auto& [list, expected] : failures) {
    EXPECT_THAT(FailureOf(std::string(R"({"resourceList": )") + list + "}"), HasSubstr(expected))
        << list;
  }
  EXPECT_THAT(FailureOf("{"), HasSubstr("config.json: $: no JSON"));
}

TEST(ResourceListTest, FileThatIsNotThereIsNamed) {
  try {
    (void)ReadResourceList("/nonexistent/config.json", "intel.com");
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_STREQ(e.what(), "/nonexistent/config.json: cannot be read: No such file or directory");
  }
}

}  // namespace
}  // namespace kuryr::devices
